# SPDX-License-Identifier: Apache-2.0
"""The pytest plugin: a test with ``@assay.mark.suite("smoke", op="softmax")`` and the fixture ``assay_case`` runs once for
each case of the suite, and what it returns, or gives to ``assay_case.check``, is judged."""
from __future__ import annotations

import functools
import inspect
from typing import Any

import pytest

import assay

_MARK = "assay_suite"


def pytest_configure(config: Any) -> None:
    config.addinivalue_line("markers", f"{_MARK}(suite, op, dtype, filter, contract, strict, bits): run the test for each of "
                                       "these cases; write it as assay.mark.suite")


@functools.lru_cache(maxsize=None)
def _cases(suite: Any, op: Any, dtype: Any, filter: Any) -> assay.Cases:
    return assay.cases(suite, op=op, dtype=dtype, filter=filter)


def _hashable(names: Any) -> Any:
    return tuple(names) if isinstance(names, list) else names


def _only_mark(definition: Any) -> Any:
    """The closest mark, or None. One of a test holds in place of its class's or its module's. CollectError: the test, or
    the class, has two itself, of which the cases of one would be dropped without a word."""
    found = list(definition.iter_markers_with_node(_MARK))
    if sum(node is found[0][0] for node, _ in found) > 1:
        raise pytest.Collector.CollectError(
            f"{definition.nodeid}: a test has one assay.mark.suite, and this one has several: give op= and dtype= lists and "
            "filter= patterns (\"matmul/*:softmax/*\") that choose the cases of them all, or write a test for each")
    return found[0][1] if found else None


def pytest_generate_tests(metafunc: Any) -> None:
    mark = _only_mark(metafunc.definition)
    if mark is None:
        return
    if "assay_case" not in metafunc.fixturenames:
        raise pytest.Collector.CollectError(f"{metafunc.definition.nodeid}: assay.mark.suite needs the argument assay_case")
    words = {key: _hashable(mark.kwargs.get(key)) for key in ("op", "dtype", "filter")}
    try:
        found = _cases(*mark.args[:1] or (None,), **words)
    except (assay.UsageError, assay.Error) as error:
        raise pytest.Collector.CollectError(f"{metafunc.definition.nodeid}: {error}") from None
    metafunc.parametrize("assay_case", [(found, i) for i in range(len(found))], ids=found.ids, indirect=True)


@pytest.fixture
def assay_case(request: Any) -> assay.Case:
    """The case that this test runs for: ``inputs``, ``attrs``, ``check(output)`` and more (assay.Case)."""
    if not hasattr(request, "param"):
        pytest.fail("assay_case is for tests with @assay.mark.suite(...)", pytrace=False)
    found, index = request.param
    case, mark = found[index], request.node.get_closest_marker(_MARK)
    if mark is not None:  # what the mark says holds for what the test checks itself, too
        case._defaults = (mark.kwargs.get("contract"), mark.kwargs.get("strict", False))
        case._sample = mark.kwargs.get("sample")
    if case.note and not (mark is not None and mark.kwargs.get("bits")):
        pytest.fail(f"{case.note}: pip install ml_dtypes, or say bits=True in assay.mark.suite if the test computes with bits, "
                    "or choose other types with dtype=", pytrace=False)
    return case


def _judge(item: Any, output: Any) -> None:
    """Judges the test's return value. A test that returns nothing must have judged something itself."""
    __tracebackhide__ = True
    case = item.funcargs["assay_case"]
    wrong = ""
    if output is not None:
        try:
            case.check(output)
        except (assay.Mismatch, assay.UsageError) as error:
            wrong = str(error)
    elif case.checked == 0:
        wrong = ("the test returned nothing and never called assay_case.check(), so that no wrong result could fail it "
                 "(judge() only tells): return the output, or check it")
    if wrong:
        pytest.fail(wrong, pytrace=False)


def _judging(item: Any) -> Any:
    """An async test that judges what it returns, which the plugin that awaits it drops."""
    test = item.obj

    @functools.wraps(test)
    async def call(*operands: Any, **named: Any) -> None:
        __tracebackhide__ = True
        _judge(item, await test(*operands, **named))
    return call


def pytest_collection_modifyitems(items: Any) -> None:
    for item in items:
        mark = item.get_closest_marker(_MARK)
        if mark is not None and inspect.iscoroutinefunction(getattr(item, "obj", None)):
            item.obj = _judging(item)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: Any) -> None:
    """Fails tests that pytest gives no cases, which would pass without a judgement."""
    if item.get_closest_marker(_MARK) and "assay_case" not in getattr(getattr(item, "callspec", None), "params", ()):
        pytest.fail("assay.mark.suite is for functions and for methods of plain classes: a unittest.TestCase has no cases, "
                    "and nothing would be judged", pytrace=False)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: Any) -> Any:
    """Calls the test itself, as pytest would warn of what it returns."""
    mark = pyfuncitem.get_closest_marker(_MARK)
    if mark is None or inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    __tracebackhide__ = True
    names = pyfuncitem._fixtureinfo.argnames
    _judge(pyfuncitem, pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names}))
    return True
