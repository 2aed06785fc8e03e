"""A Llama from scratch, small enough to learn the toy skill's words in seconds on one thread."""

from pathlib import Path

import toy
from climbable.core.prompt import chat, render


def make_tiny_model(folder: Path) -> Path:
    """Writes an untrained model of under a million parameters, with a tokenizer of the toy skill's own words."""
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers
    from tokenizers.decoders import ByteLevel
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    texts = [
        render(None, chat(toy.SKILL.system_prompt, task.prompt)) + toy.chatty(task, style)
        for family in ("one", "two")
        for index in range(60)
        for style in (0, 4)
        for task in [toy.make_task(family, "train", index)]
    ]
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    tokenizer.train_from_iterator(
        texts,
        trainers.BpeTrainer(vocab_size=412, special_tokens=["<end>"], initial_alphabet=alphabet, show_progress=False),
    )
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<end>", pad_token="<end>")
    torch.manual_seed(0)
    model = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(fast),
            hidden_size=128,
            intermediate_size=256,
            num_hidden_layers=4,
            num_attention_heads=4,
            max_position_embeddings=256,
            eos_token_id=fast.eos_token_id,
            pad_token_id=fast.pad_token_id,
            bos_token_id=None,
        )
    )
    model.save_pretrained(folder)
    fast.save_pretrained(folder)
    return folder
