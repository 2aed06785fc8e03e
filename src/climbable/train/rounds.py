"""A step's groups, sampled and scored in rounds: with dynamic sampling, groups without signal are replaced by fresh tasks.

Dynamic sampling is Yu et al. 2025 (DAPO), section 3.2. All rounds are over before TRL sees a completion, so its trainer
needs no change: it gets ``prompts × group`` completions as ever, and the update sees none of the replaced groups.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from climbable.core.group import Group, has_signal
from climbable.core.progress import Progress
from climbable.core.skill import Skill
from climbable.core.types import Task
from climbable.policy.model import prompt_ids
from climbable.policy.sampler import Sampler
from climbable.recipe import Recipe
from climbable.train.course import Course
from climbable.train.grader import Grader
from climbable.train.learner import Learner
from climbable.train.sampling_copy import SamplingCopy


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampled:
    """A scored group with the token ids that TRL is given of it."""

    group: Group
    prompt_ids: list[int]
    completion_ids: list[list[int]]


@dataclass(kw_only=True)
class Rounds:
    """TRL's ``rollout_func``: what a prompt of its dataset says is not looked at, the course says what is asked."""

    recipe: Recipe
    skill: Skill
    learner: Learner
    sampler: Sampler
    copy: SamplingCopy | None
    course: Course
    grader: Grader
    progress: Progress

    def __call__(self, prompts: Sequence[str], trainer: Any) -> dict[str, Any]:
        """One step: token ids of ``prompts × group`` completions, whose groups are recorded and graded already."""
        settings = self.recipe.train
        step = trainer.state.global_step // trainer.num_iterations + 1
        assert len(prompts) == settings.prompts * settings.group, "TRL asks for one step at a time"
        families = self.course.families(settings.prompts)
        if self.copy:
            with self.grader.timed("sample"):
                self.copy.refresh()
        kept = self._sample([self.course.draw(each) for each in families], "sample", "reward")
        replaced: list[Sampled] = []
        rounds = 0
        while settings.dynamic_sampling and rounds < settings.max_resamples:
            flat = [place for place, sampled in enumerate(kept) if not has_signal(sampled.group.rewards)]
            if not flat:
                break
            rounds += 1
            replaced += [kept[place] for place in flat]
            # From the same families, so that the mix stays what recipe and ladder say.
            fresh = self._sample([self.course.draw(families[place]) for place in flat], "resample", "resample")
            for place, sampled in zip(flat, fresh, strict=True):
                kept[place] = sampled
        self._finish(step, kept, replaced, rounds)
        return {
            "prompt_ids": [sampled.prompt_ids for sampled in kept for _ in sampled.completion_ids],
            "completion_ids": [ids for sampled in kept for ids in sampled.completion_ids],
            "logprobs": None,
        }

    def _sample(self, tasks: Sequence[Task], sampling: str, scoring: str) -> list[Sampled]:
        """One group for each of `tasks`; the seconds are counted under the names `sampling` and `scoring`."""
        size = self.recipe.train.group
        with self.grader.timed(sampling):
            ids = [prompt_ids(self.learner.tokenizer, self.skill, task) for task in tasks]
            self.learner.model.eval()
            completions = self.sampler.sample(
                [each for each in ids for _ in range(size)],
                lambda place, answer: self.grader.start(place, tasks[place // size], answer),
            )
            self.learner.model.train()
        with self.grader.timed(scoring):
            groups = self.grader.grade(tasks, completions)
        return [
            Sampled(group=group, prompt_ids=ids[place], completion_ids=completions[place * size : (place + 1) * size])
            for place, group in enumerate(groups)
        ]

    def _finish(self, step: int, kept: Sequence[Sampled], replaced: Sequence[Sampled], rounds: int) -> None:
        kept_groups, replaced_groups = [each.group for each in kept], [each.group for each in replaced]
        level = self.course.level
        self.grader.finish_step(step, kept_groups, replaced_groups)
        if self.recipe.train.dynamic_sampling:
            self.grader.figures["resampled"] = {
                "rounds": rounds,
                "groups": len(replaced),
                "samples": sum(len(group.samples) for group in replaced_groups),
            }
        climb = self.course.finish(step, replaced_groups + kept_groups)
        if self.recipe.ladder.rungs:
            self.grader.figures["level"] = level
        if climb:
            self.grader.figures["climb"] = climb.to_json()
            self.progress.say(
                f"step {step}: {climb.solved} solved (pass@1 {climb.pass_at_1:.3f} over {climb.groups} groups), "
                f"next: {climb.rung}"
            )
