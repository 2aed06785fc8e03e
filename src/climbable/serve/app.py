"""The routes, on FastAPI."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fastapi import FastAPI, Request, Response
from pydantic import BaseModel

from climbable import __version__
from climbable.serve.aggregate import aggregate
from climbable.serve.desk import Desk, Full
from climbable.serve.door import Door
from climbable.serve.wire import (
    AggregateRequest,
    AsciiJSON,
    VerifyRequest,
    output_text,
    read_body,
    read_task,
    verify_answer,
)
from climbable.verify import Verifier


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What a server allows."""

    places: int = 4096
    """Completions admitted at once; the next is sent away with 429."""
    deadline_s: float = 600.0
    """From admission to answer; beyond it a completion is unmeasured."""
    most_body_bytes: int = 4 << 20
    token: str | None = None


def make_app(verifier: Verifier, settings: Settings | None = None) -> FastAPI:
    """The app for one skill; `verifier` is the caller's to close."""
    settings = settings or Settings()
    skill = verifier.skill
    desk = Desk(verifier, places=settings.places, deadline_s=settings.deadline_s)
    app = FastAPI(title=f"Climbable: {skill.name}", version=__version__, default_response_class=AsciiJSON)
    app.add_middleware(Door, most_bytes=settings.most_body_bytes, token=settings.token)

    @app.exception_handler(Full)
    async def full(_: Request, error: Full) -> Response:
        return AsciiJSON({"detail": str(error)}, status_code=429, headers={"Retry-After": str(error.retry_after)})

    @app.get("/health")
    async def health() -> dict[str, Any]:
        """Whether it lives, and how busy it is."""
        return {"status": "ok", "skill": skill.name, "in_flight": desk.in_flight, "places": settings.places}

    @app.get("/skills")
    async def skills() -> list[dict[str, Any]]:
        """The skill that is served, with its families."""
        return [skill.to_json()]

    @app.get("/metrics", response_class=Response)
    async def metrics() -> Response:
        """Counters and times for Prometheus."""
        from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

        return Response(generate_latest(desk.registry), headers={"Content-Type": CONTENT_TYPE_LATEST})

    @app.post("/seed_session")
    async def seed_session() -> dict[str, Any]:
        """Nothing is kept between requests, so there is nothing to seed."""
        return {}

    @app.post("/verify", openapi_extra=_takes(VerifyRequest), responses=_REFUSALS)
    async def verify(request: Request) -> Response:
        """The row that came in, with its reward and score."""
        row, parsed = read_body(VerifyRequest, await request.body())
        task, completion = read_task(skill, parsed.task), output_text(parsed.response)
        return AsciiJSON(verify_answer(row, await desk.verify(task, completion)))

    @app.post("/aggregate_metrics", openapi_extra=_takes(AggregateRequest), responses=_REFUSALS)
    async def aggregate_metrics(request: Request) -> Response:
        """Figures of verified rows: by task, over all, and the headline."""
        _, parsed = read_body(AggregateRequest, await request.body())
        return AsciiJSON(aggregate(parsed.verify_responses))

    return app


_REFUSALS: dict[int | str, dict[str, Any]] = {
    401: {"description": "No token, or a wrong one."},
    413: {"description": "The body is over the limit."},
    422: {"description": "The body is malformed; `detail` names the field."},
    429: {"description": "No place is free; Retry-After says when to come back."},
}


def _takes(model: type[BaseModel]) -> dict[str, Any]:
    """The schema of a body that the route reads itself: FastAPI's own reading lets NaN and lone surrogates through."""
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": model.model_json_schema()}}}}
