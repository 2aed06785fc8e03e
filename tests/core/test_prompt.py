"""The script in an answer, in the many forms in which models write one, and the prompt as every stage renders it."""

import ast
import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from climbable.core.prompt import chat, drop_thoughts, extract_script, ids_digest, render, token_ids

LINES = st.lists(st.text(alphabet="xy =()#'\"é", max_size=12), min_size=1).filter(lambda lines: "".join(lines).strip())
IDS = st.lists(st.lists(st.integers(0, 50_000), max_size=4), max_size=4)


@pytest.mark.parametrize(
    ("completion", "script"),
    [
        pytest.param("```\nx\n```", "x\n", id="bare fence"),
        pytest.param("```python\nx\n```\n", "x\n", id="language word"),
        pytest.param("``` Python 3 \nx\n```", "x\n", id="several words"),
        pytest.param("```python title='a ~~~'\nx\n```", "x\n", id="attributes"),
        pytest.param("~~~\nx\n~~~", "x\n", id="tildes"),
        pytest.param("~~~py `a` ```\nx\n~~~", "x\n", id="backticks after tildes"),
        pytest.param("~~~\nx\n```\ny\n~~~", "x\n```\ny\n", id="backticks inside tildes"),
        pytest.param("```\nx\n~~~\ny\n```", "x\n~~~\ny\n", id="tildes inside backticks"),
        pytest.param("`````\nx\n```\ny\n`````\nz", "x\n```\ny\n", id="longer fence"),
        pytest.param("```\nx\n``````\nz", "x\n", id="longer closing fence"),
        pytest.param("````\nx\n```", "x\n```\n", id="shorter fence closes nothing"),
        pytest.param("```\nx\n```py\ny\n```", "x\n```py\ny\n", id="a fence with a word closes nothing"),
        pytest.param("```\nx\n``` \t\nz", "x\n", id="white space after the closing fence"),
        pytest.param("```\nx\n   ```\nz", "x\n", id="closing fence three in"),
        pytest.param("```\nx\n    ```\nz", "x\n    ```\nz\n", id="closing fence four in"),
        pytest.param("a\n   ```\nx\n```", "x\n", id="opening fence three in"),
        pytest.param("a\n    ```\n", "a\n    ```\n", id="opening fence four in is none"),
        pytest.param("a\n``\nx\n``", "a\n``\nx\n``", id="two backticks are no fence"),
        pytest.param("a ```\nx = 1", "a ```\nx = 1", id="a fence begins its line"),
        pytest.param("```print(1)```", "```print(1)```", id="inline code is no fence"),
        pytest.param("``` a`b\n```\nx\n```", "x\n", id="backtick in the info string"),
        pytest.param("```bash\nls\n```\n```python\nx\n```", "ls\n", id="first of two"),
        pytest.param("```py\nx\n  y\n\n```", "x\n  y\n\n", id="white space inside is kept"),
        pytest.param("Sure:\r\n```py\r\nx\r\ny\r\n```\r\nz", "x\ny\n", id="CRLF"),
        pytest.param("x\r\ny", "x\r\ny", id="CRLF without a fence"),
        pytest.param("x = 1\ny = 2", "x = 1\ny = 2", id="no fence"),
        pytest.param("I cannot do that.", "I cannot do that.", id="prose"),
        pytest.param("\n\nx = 1", "\n\nx = 1", id="blank lines first"),
        pytest.param("```\n'''\n# é \ud800\n'''\n```", "'''\n# é \ud800\n'''\n", id="lone surrogate"),
    ],
)
def test_the_script_of_an_answer(completion, script):
    found = extract_script(completion)
    assert found is not None and found.strip("\r\n") == script.strip("\r\n")


@pytest.mark.parametrize("completion", ["", " ", "\n\r\n\t", "\u00a0\u2003", "```\n```\nx", "```python", "~~~\n \n~~~"])
def test_nothing_but_white_space_is_no_script(completion):
    assert extract_script(completion) is None


@pytest.mark.parametrize("ending", ["", "\n", "\n``", "\n~~~", "\n    ```"])
def test_a_fence_that_never_closes_runs_to_the_end(ending):
    script = extract_script("text\n```python\nx = 1\ny = 2" + ending)
    assert script.rstrip("\n") == ("x = 1\ny = 2" + ending).rstrip("\n")


@pytest.mark.parametrize("first", [" ", "\t", "\n ", "\r\n\t", "    ", "<think>x</think> ", " <think>x</think>\n  "])
def test_white_space_before_a_plain_script_is_dropped(first):
    assert ast.dump(ast.parse(extract_script(first + "x = 1\ny = 2"))) == ast.dump(ast.parse("x = 1\ny = 2"))


@pytest.mark.parametrize("first", ["    ", "\t", "\n     ", "<think>x</think>     "])
def test_white_space_before_a_fence_is_dropped(first):
    assert extract_script(first + "```python\nx = 1\n```\n") == "x = 1\n"


# CommonMark 0.31, section 4.5: a content line loses as much indent as its opening fence has, if it has that much.
@pytest.mark.parametrize(
    ("block", "script"),
    [
        ("  ```\n  if x:\n      y\n  ```", "if x:\n    y\n"),
        (" ```\n x\ny\n ```", "x\ny\n"),
        ("   ```\n   x\n     y\n  z\n   ```", "x\n  y\nz\n"),
    ],
)
def test_the_indent_of_a_fence_is_taken_off_its_content(block, script):
    assert extract_script("1. Like this:\n\n" + block) == script


@pytest.mark.parametrize(
    ("completion", "rest"),
    [
        ("<think>a</think>b", "b"),
        (" \n<think>\na\n</think>\nb", "\nb"),
        ("<think></think>b", "b"),
        ("<think>a</think><think>b</think>c", "<think>b</think>c"),
        ("<think>a<think>b</think>c", "c"),
        ("<think>a", ""),
        ("<think>", ""),
        ("a<think>b</think>c", "a<think>b</think>c"),
        ("a</think>b", "a</think>b"),
        ("<THINK>a</THINK>", "<THINK>a</THINK>"),
        ("b", "b"),
    ],
)
def test_one_leading_block_of_thoughts_is_dropped(completion, rest):
    assert drop_thoughts(completion).lstrip() == rest.lstrip()


@pytest.mark.parametrize(
    ("completion", "script"),
    [
        ("<think>\n```py\nwrong\n```\n</think>\n```py\nright\n```", "right\n"),
        ("<think>\n```py\nwrong\n```\n</think>right", "right"),
        ("<think>```py\nx\n```", None),
        ("<think>a</think> \n", None),
        ("```py\nx = '<think>'\n```", "x = '<think>'\n"),
    ],
)
def test_a_script_in_thoughts_is_no_answer(completion, script):
    assert extract_script(completion) == script


@given(st.text(alphabet="`~ \n\r\tpxé<>/\ud800think", max_size=60))
def test_any_answer_gives_a_script_with_something_in_it_or_none(completion):
    script = extract_script(completion)
    assert script is None or script.strip()


@given(LINES, st.integers(3, 6), st.sampled_from("`~"))
def test_a_fence_gives_back_what_it_was_put_around(lines, length, mark):
    fence = mark * length
    body = "\n".join(lines) + "\n"
    assert extract_script(f"Here:\n{fence}python\n{body}{fence}\nDone.") == body


class Tokenizer:
    """A tokenizer of which only the used part is there; without `template` it has no chat template."""

    def __init__(self, template=None):
        self.chat_template = template

    def apply_chat_template(self, messages, *, tokenize, add_generation_prompt):
        assert not tokenize and add_generation_prompt
        return "".join(f"[{message['role']}]{message['content']}" for message in messages) + "[assistant]"

    def __call__(self, text, *, add_special_tokens):
        assert not add_special_tokens, "the template wrote them already"
        return {"input_ids": tuple(text.encode())}


def test_a_task_is_asked_by_a_system_and_a_user_message():
    assert chat("be brief", "go") == [{"role": "system", "content": "be brief"}, {"role": "user", "content": "go"}]


def test_the_template_is_used_where_there_is_one():
    assert render(Tokenizer("some"), chat("be brief", "go")) == "[system]be brief[user]go[assistant]"


@pytest.mark.parametrize("tokenizer", [Tokenizer(), Tokenizer(""), object()])
def test_without_a_template_the_contents_stand_apart(tokenizer):
    assert render(tokenizer, chat("be brief", "go")) == "be brief\n\ngo\n\nAnswer:\n"


def test_token_ids_are_a_list_without_added_tokens():
    assert token_ids(Tokenizer(), "ab") == [97, 98]


def test_the_digest_is_of_the_ids_as_json():
    assert ids_digest([[1, 2], (3,)]) == "sha256:" + hashlib.sha256(b"[[1,2],[3]]").hexdigest()


@pytest.mark.parametrize(
    "other",
    [[[1, 2], [4]], [[1], [2, 3]], [[1, 2, 3]], [[3], [1, 2]], [[2, 1], [3]], [[12], [3]], [[1, 2], [3], []], []],
    ids=repr,
)
def test_the_digest_differs_if_one_id_differs_or_moves(other):
    assert ids_digest(other) != ids_digest([[1, 2], [3]])


@given(IDS, IDS)
def test_equal_ids_have_one_digest_and_other_ids_another(one, other):
    assert ids_digest(iter([tuple(ids) for ids in one])) == ids_digest(one)
    assert (ids_digest(other) == ids_digest(one)) == (other == one)
