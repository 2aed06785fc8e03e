"""How a label is said, in English and Japanese; every value stands in the sentence as it is."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

SYSTEM = (
    "Turn the request into one call of the LangGraph command line. Answer with one JSON object and nothing else. Keys: "
    "command (new, dev, up, build or dockerfile), template, path, port, no_browser, watch, tag, output_path. "
    "A key that was not asked for is null."
)

_SENTENCES: Mapping[str, tuple[str, ...]] = {
    "new": (
        "Create a new project from the {template} template in {path}.",
        "Start a project at {path} with the template {template}.",
        "I need a fresh LangGraph project in {path}; base it on {template}.",
        "Set up {path} from {template}, please.",
        "{template} テンプレートで {path} に新しいプロジェクトを作って。",
        "{path} に {template} から新規プロジェクトを作成してください。",
    ),
    "dev": (
        "Start the dev server{port}{no_browser}.",
        "Run the development server{port}{no_browser}.",
        "Please bring up the local dev server{port}{no_browser}.",
        "開発サーバーを起動して{port}{no_browser}。",
    ),
    "up": (
        "Launch the stack{port}{watch}.",
        "Bring the containers up{port}{watch}.",
        "Start the API server in Docker{port}{watch}.",
        "コンテナを立ち上げて{port}{watch}。",
    ),
    "build": (
        "Build the image and tag it {tag}.",
        "Make a Docker image called {tag}.",
        "Please build {tag}.",
        "イメージを {tag} というタグでビルドして。",
    ),
    "dockerfile": (
        "Write a Dockerfile to {output_path}.",
        "Generate the Dockerfile and save it as {output_path}.",
        "I want the Dockerfile in {output_path}.",
        "{output_path} に Dockerfile を出力して。",
    ),
}
_PIECES: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "en": {
        "port": (" on port {}", ", port {}", " at port {}"),
        "no_browser": (" without opening a browser", ", and don't open the browser", ", no browser"),
        "watch": (" and watch for changes", ", reloading when files change", " in watch mode"),
    },
    "ja": {
        "port": ("、ポートは {}", "、{} 番ポートで"),
        "no_browser": ("、ブラウザは開かないで", "、ブラウザなしで"),
        "watch": ("、変更を監視して", "、ウォッチモードで"),
    },
}


def say(label: Mapping[str, Any], draw: random.Random) -> str:
    """A sentence for `label`; what is ``None`` in it is not mentioned."""
    sentence = draw.choice(_SENTENCES[label["command"]])
    pieces = _PIECES["en" if sentence.isascii() else "ja"]
    values = {
        key: draw.choice(pieces[key]).format(value) if value is not None else ""
        for key, value in label.items()
        if key in pieces
    }
    return sentence.format(**{**label, **values})
