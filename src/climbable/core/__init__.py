"""What everything else rests on, standard library only: values, errors, prompt, reward, group, gate, stats, records."""
