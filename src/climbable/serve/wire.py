"""The bodies that come in and go out: read strictly, answered in ASCII so that lone surrogates survive."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from climbable.core import records
from climbable.core.errors import UserError
from climbable.core.skill import Skill
from climbable.core.types import Outcome, Score, Task


class VerifyRequest(BaseModel):
    """One completion of one task; further fields of the row come back as they are."""

    model_config = ConfigDict(extra="allow")

    responses_create_params: dict[str, Any] = Field(default_factory=dict, description="What the policy was asked with.")
    response: dict[str, Any] = Field(description="An object of OpenAI's Responses API; its output text is verified.")
    task: str | dict[str, Any] = Field(description="A task's id, or one task as `climb tasks --json` prints it.")


class AggregateRequest(BaseModel):
    """The answers of many `/verify` calls; `_ng_task_index` or `task` says which belong together."""

    verify_responses: list[dict[str, Any]]


class AsciiJSON(JSONResponse):
    """JSON in ASCII."""

    def render(self, content: Any) -> bytes:
        """`content` on one line."""
        return records.dumps(content).encode()


def read_body(model: type[BaseModel], body: bytes) -> tuple[dict[str, Any], Any]:
    """A body as it came and as `model`; what is malformed becomes FastAPI's own 422, with the field named."""
    try:
        value = records.loads(body)
    except ValueError as error:
        raise _malformed(("body",), f"the body is not JSON: {error}") from None
    try:
        parsed = model.model_validate(value)
    except ValidationError as error:
        raise RequestValidationError(
            [{**part, "loc": ("body", *part["loc"])} for part in error.errors(include_url=False, include_input=False)]
        ) from None
    return value, parsed


def read_task(skill: Skill, given: str | Mapping[str, Any]) -> Task:
    """The task of a request; one that is unknown, malformed or of another skill is a 422 on ``task``."""
    try:
        task = skill.task_by_id(given) if isinstance(given, str) else Task.from_json(given)
        if task.skill != skill.name:
            raise UserError(f"task {task.id!r} is of skill {task.skill!r}; this server is for {skill.name!r}")
    except UserError as error:
        raise _malformed(("body", "task"), str(error)) from None
    return task


def output_text(response: Mapping[str, Any]) -> str:
    """The text of a Responses object: its ``output_text`` parts joined, reasoning and tool calls left out."""
    output = response.get("output")
    if output is None and isinstance(response.get("output_text"), str):
        return str(response["output_text"])
    if not isinstance(output, list):
        raise _malformed(("body", "response", "output"), "it must be a list of output items, or give output_text")
    texts = []
    for place, item in enumerate(output):
        if not isinstance(item, Mapping):
            raise _malformed(("body", "response", "output", place), "an output item is an object")
        if item.get("type", "message") != "message":
            continue
        parts = item.get("content", [])
        if isinstance(parts, str):
            texts.append(parts)
            continue
        if not isinstance(parts, list):
            raise _malformed(("body", "response", "output", place, "content"), "it must be text or a list of parts")
        for part in parts:
            if isinstance(part, Mapping) and isinstance(part.get("text"), str):
                texts.append(part["text"])
    return "".join(texts)


def verify_answer(row: Mapping[str, Any], score: Score) -> dict[str, Any]:
    """The row with its reward and score. What was not measured has the reward ``null``, and says that it is to be masked."""
    unmeasured = score.outcome is Outcome.UNMEASURED
    kind = "unmeasured" if unmeasured else score.reason.value if score.reason else None
    return {
        **row,
        "reward": score.reward,
        "mask_sample": unmeasured,
        "failure_kind": kind,
        "failure_reason": score.detail,
        "score": score.to_json(),
    }


def _malformed(where: tuple[str | int, ...], message: str) -> RequestValidationError:
    return RequestValidationError([{"type": "value_error", "loc": where, "msg": message}])
