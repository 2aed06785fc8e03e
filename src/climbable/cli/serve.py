"""``climb serve``: the verifier over HTTP."""

from __future__ import annotations

import ipaddress
import os
import signal
import socket
import sys

import click

from climbable.cli import options, output
from climbable.core.errors import Unavailable, UserError

TOKEN = "CLIMBABLE_TOKEN"


@click.command()
@options.skill
@click.option("--host", default="127.0.0.1", show_default=True, help=f"Beyond loopback it wants {TOKEN}.")
@click.option("--port", type=click.IntRange(0, 65535), default=8377, show_default=True, help="0: any free one.")
@click.option(
    "--places",
    type=click.IntRange(min=1),
    default=4096,
    show_default=True,
    metavar="N",
    help="Completions admitted at once; beyond it: 429.",
)
@click.option(
    "--deadline",
    type=click.FloatRange(min=0, min_open=True),
    default=600.0,
    show_default=True,
    metavar="S",
    help="Seconds from admission to answer.",
)
@click.option(
    "--most-body",
    type=click.IntRange(min=1024),
    default=4 << 20,
    show_default=True,
    metavar="BYTES",
    help="The largest request.",
)
@options.sandbox
@options.as_json
def command(
    skill: str,
    host: str,
    port: int,
    places: int,
    deadline: float,
    most_body: int,
    blender: str | None,
    container: str | None,
    workers: int,
    memory: int,
    timeout: float,
    as_json: bool,
) -> int:
    """The verifier over HTTP, in the wire form of NeMo Gym's resources servers.

    GET /health, /skills, /metrics; POST /verify, /seed_session, /aggregate_metrics. The first Ctrl-C or SIGTERM takes
    no more requests and answers those that are admitted. With CLIMBABLE_TOKEN set, requests need
    "Authorization: Bearer TOKEN".

    \b
    Examples:
      climb serve scene
      curl localhost:8377/verify -d '{"task": "scene/stack/test/0", "response": {"output_text": "import bpy"}}'
      CLIMBABLE_TOKEN=$(openssl rand -hex 16) climb serve scene --host 0.0.0.0
    """
    token = os.environ.get(TOKEN) or None
    if token is None and not is_loopback(host):
        raise UserError(
            f"{host!r} can be reached from other machines, and {TOKEN} is not set: "
            f"`{TOKEN}=$(openssl rand -hex 16) climb serve {skill} --host {host}`"
        )
    try:
        import uvicorn

        from climbable.serve import Settings, make_app
    except ImportError as error:
        raise Unavailable(f"{error.name} is not installed: pip install 'climbable[serve]'") from error
    from climbable.skills import load_skill
    from climbable.verify import Verifier

    known = load_skill(skill)
    settings = Settings(places=places, deadline_s=deadline, most_body_bytes=most_body, token=token)
    with (
        listen(host, port) as listener,
        Verifier(
            known, workers=workers, wall_s=timeout, memory_mib=memory, interpreter=blender, runner=container or "local"
        ) as verifier,
    ):
        app = make_app(verifier, settings)
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=int(deadline) + 1))
        shown = f"[{host}]" if ":" in host else host
        url = f"http://{shown}:{listener.getsockname()[1]}"
        if as_json:
            output.emit({"skill": known.name, "url": url}, indent=False)
            sys.stdout.flush()
        output.say(f"serving {known.name} on {url}; Ctrl-C answers what is admitted, then ends")
        for number in (signal.SIGTERM, signal.SIGINT):  # uvicorn sends itself the signal again when it has drained
            signal.signal(number, lambda *_: None)
        server.run(sockets=[listener])
    return 0


def listen(host: str, port: int) -> socket.socket:
    """A listening socket, taken before anything slow starts; a port that is taken is a `UserError`."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family, backlog=4096)
    except OSError as error:
        raise UserError(
            f"cannot listen on {host!r}, port {port}: {error.strerror or error}; --port 0 takes a free one"
        ) from None


def is_loopback(host: str) -> bool:
    """Whether `host` can only be reached from this machine."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
