"""Jobs switch a machine: one of a name, once, and never beside what may still act of an old one."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import msgspec
import pytest
from jobs_api import NAMESPACE, JobsApi, kubeconfig
from power_rig import DEADLINE, NO_WAY, SECRET, SETTLES, MethodRig, serving, worlds

from hostler.domain.errors import ConfigError
from hostler.domain.model.calls import Done, Refusal, Refused, Unknown
from hostler.ports.power import PowerAction, PowerState
from hostler.providers.power.job.manifest import TEMPLATE, Purpose, job_name, selector
from hostler.providers.power.methods.job import Job, JobTable
from hostler.simulators.power.box import Box
from hostler.testing.conformance.power.suite import CHECKS, Check, run_check

ON, OFF = PowerAction.ON, PowerAction.OFF_SOFT
STARTUP, SHUTDOWN = "node-startup-worker-1", "node-shutdown-worker-1"
LIMIT = timedelta(seconds=0.3)


def table(path: str, **more: object) -> JobTable:
    known: dict[str, object] = {
        "node": "worker-1",
        "kubeconfig": path,
        "on": {"image": "wake", "args": ["52:54:00:12:34:56"]},
        "off": {"image": "poweroff", "secrets": {"PASSWORD": "login/password"}},
        "deadline": DEADLINE,
        "settles": SETTLES,
        "limit": LIMIT,
    }
    return msgspec.convert(known | more, JobTable)


@asynccontextmanager
async def machine(folder: Path, **more: object) -> AsyncGenerator[tuple[MethodRig, JobsApi]]:
    box = Box(name="box-1", time=asyncio.get_running_loop().time)
    api = JobsApi(box, SECRET)
    async with serving(api.app()) as url:
        rig = MethodRig(Job(), box, table(kubeconfig(folder, url, SECRET), **more))
        try:
            yield rig, api
        finally:
            for power in rig.opened:
                await power.close()


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
async def test_method_keeps_the_promise_that(check: Check, tmp_path: Path) -> None:
    opened = worlds(
        Job(),
        lambda box: JobsApi(box, SECRET).app(),
        lambda url: table(kubeconfig(tmp_path, url, SECRET)),
    )
    assert await run_check(check, opened) in {
        "",
        NO_WAY,
        "it cannot be asked",
        "it cannot do off_hard",
        "it cannot do cycle",
    }


def without_certificates(folder: Path) -> str:
    """Write a kubeconfig of which the certificates are junk; return its path."""
    path = Path(kubeconfig(folder, "https://127.0.0.1:1", SECRET))
    content = json.loads(path.read_text())
    content["clusters"][0]["cluster"]["certificate-authority-data"] = "anVuaw=="
    path.write_text(json.dumps(content))
    return str(path)


async def test_a_certificate_that_is_none_is_told_as_that(tmp_path: Path) -> None:
    box = Box(name="box-1", time=asyncio.get_running_loop().time)
    power = MethodRig(Job(), box, table(without_certificates(tmp_path))).open()
    outcome = await power.act(ON)
    await power.close()
    assert isinstance(outcome, Refused)
    assert outcome.why is Refusal.INVALID
    assert outcome.text.endswith("certificates that cannot be used: it is not PEM")


async def test_a_job_of_a_fixed_name_is_made_once_and_its_bounds_are_its_own(
    tmp_path: Path,
) -> None:
    async with machine(tmp_path) as (rig, api):
        assert isinstance(await rig.open().act(ON), Done)
        (job,) = api.jobs.values()
    assert job["metadata"]["name"] == STARTUP
    assert job["metadata"]["namespace"] == NAMESPACE
    spec = job["spec"]
    assert (spec["backoffLimit"], spec["activeDeadlineSeconds"]) == (0, 1)
    pod = spec["template"]["spec"]
    assert pod["restartPolicy"] == "Never"
    assert pod["automountServiceAccountToken"] is False
    (term,) = pod["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"][
        "nodeSelectorTerms"
    ]
    assert term["matchFields"] == [
        {"key": "metadata.name", "operator": "NotIn", "values": ["worker-1"]}
    ]
    (container,) = pod["containers"]
    assert (container["image"], container["args"]) == ("wake", ["52:54:00:12:34:56"])
    assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}


async def test_01_a_call_after_a_crash_finds_the_job_that_is_under_way(tmp_path: Path) -> None:
    """Nothing of a Job is held in memory: it is made no second time, and its end is told."""
    async with machine(tmp_path, limit=timedelta(seconds=60)) as (rig, api):
        api.ends = ""
        assert isinstance(await rig.open().act(ON), Done)
        rig.turn = type(rig.turn)()  # as after a restart
        assert isinstance(await rig.open().act(ON), Done)
        assert rig.arrived() == ("on",)
        asyncio.get_running_loop().call_later(0.1, api.end, STARTUP, "Failed")
        assert isinstance(await rig.open().act(ON), Unknown), "the end of the old call's Job"


async def test_05_a_job_is_tried_once_and_one_beyond_its_bound_is_ended_first(
    tmp_path: Path,
) -> None:
    async with machine(tmp_path) as (rig, api):
        api.ends = ""
        await rig.open().act(ON)
        old = api.jobs[STARTUP]["metadata"]["uid"]
        await asyncio.sleep(LIMIT.total_seconds())
        await rig.open().act(ON)
        assert api.jobs[STARTUP]["metadata"]["uid"] != old
        (deletion,) = api.deletions
        assert deletion["preconditions"] == {"uid": old}
        assert len(api.pods) == 1, "the old attempt's Pod is there no more"


async def test_06_jobs_are_removed_with_their_pods_and_these_are_waited_for(
    tmp_path: Path,
) -> None:
    """A shutdown that was superseded must not fire while, or after, the machine is started."""
    async with machine(tmp_path, limit=timedelta(seconds=60)) as (rig, api):
        api.ends = ""
        await rig.open().act(OFF)
        api.slow_pods = True
        for _ in range(2):
            outcome = await rig.open().act(ON)
            assert isinstance(outcome, Refused)
            assert outcome.why is Refusal.BUSY
            assert "on other" in outcome.text, "it says where the Pod still runs"
        assert rig.arrived() == ("off_soft",)
        assert [one["propagationPolicy"] for one in api.deletions] == ["Background"]
        api.pods.clear()
        api.ends = "Complete"
        assert isinstance(await rig.open().act(ON), Done)
        assert list(api.jobs) == [STARTUP]


@pytest.mark.parametrize("early", ["SuccessCriteriaMet", "FailureTarget"])
async def test_a_job_is_not_finished_before_it_says_complete_or_failed(
    tmp_path: Path, early: str
) -> None:
    async with machine(tmp_path, limit=timedelta(seconds=60)) as (rig, api):
        api.ends = ""
        power = rig.open()
        await power.act(ON)
        api.end(STARTUP, early)
        assert isinstance(await power.act(ON), Done)
        assert rig.arrived() == ("on",), "it still runs"
        api.end(STARTUP, early, "Complete" if early.startswith("S") else "Failed")
        api.pods.clear()
        await power.act(ON)
        assert rig.arrived() == ("on", "on"), "it is finished, and was removed for another one"


async def test_04_a_job_that_succeeded_proves_nothing_about_power(tmp_path: Path) -> None:
    async with machine(tmp_path) as (rig, api):
        api.box.script.append("ignored")
        power = rig.open()
        assert isinstance(await power.act(ON), Done)
        assert (await power.query()).state is PowerState.UNKNOWN
        assert power.capabilities.query is False
        assert power.capabilities.settles == LIMIT + SETTLES, "it may act as long as it runs"


async def test_a_job_that_failed_promises_nothing_and_says_why(tmp_path: Path) -> None:
    async with machine(tmp_path) as (rig, api):
        api.ends = "Failed"
        outcome = await rig.open().act(ON)
    assert outcome == Unknown(text=f"the Job {NAMESPACE}/{STARTUP} failed: Why: so")


async def test_24_of_conditions_only_those_count_that_are_true(tmp_path: Path) -> None:
    async with machine(tmp_path, limit=timedelta(seconds=60)) as (rig, api):
        api.ends = ""
        await rig.open().act(ON)
        false = {"type": "Failed", "status": "False"}
        api.jobs[STARTUP]["status"] = {"conditions": [false, false]}
        assert isinstance(await rig.open().act(ON), Done)
        assert rig.arrived() == ("on",)


async def test_25_all_calls_go_to_one_namespace(tmp_path: Path) -> None:
    async with machine(tmp_path) as (rig, api):
        for action in (ON, OFF, ON):
            await rig.open().act(action)
    assert {path.split("/namespaces/")[1].split("/")[0] for _, path in api.seen} == {NAMESPACE}


async def test_26_a_machine_is_switched_whether_or_not_its_node_object_is_there(
    tmp_path: Path,
) -> None:
    async with machine(tmp_path) as (rig, api):
        assert isinstance(await rig.open().act(ON), Done)
    assert not [path for _, path in api.seen if "/nodes" in path]


async def test_27_a_long_name_has_a_digest_and_what_cannot_work_is_not_tried_for_ever(
    tmp_path: Path,
) -> None:
    long = "worker-" + "x" * 200
    names = {job_name(purpose, node) for purpose in Purpose for node in (long, f"{long}y")}
    assert len(names) == 4
    assert all(len(name) <= 63 for name in names)
    assert len(selector(long).rpartition("=")[2]) <= 63
    async with machine(tmp_path, node=long, namespace="no-such") as (rig, _):
        outcome = await rig.open().act(ON)
    assert isinstance(outcome, Refused)
    assert outcome.why is Refusal.INVALID
    assert 'namespaces "no-such" not found' in outcome.text


async def test_28_a_secret_is_a_reference_and_stands_in_no_job(tmp_path: Path) -> None:
    async with machine(tmp_path) as (rig, api):
        await rig.open().act(OFF)
        text = json.dumps(api.jobs[SHUTDOWN])
        (variable,) = api.jobs[SHUTDOWN]["spec"]["template"]["spec"]["containers"][0]["env"]
    assert variable == {
        "name": "PASSWORD",
        "valueFrom": {"secretKeyRef": {"name": "login", "key": "password"}},
    }
    assert SECRET not in text
    faults = Job().check(table("k", off={"image": "i", "secrets": {"PASSWORD": SECRET}}))
    assert faults == ("off.secrets: expected SECRET/KEY for PASSWORD, not a secret itself",)


async def test_a_job_of_somebody_else_is_left_alone(tmp_path: Path) -> None:
    async with machine(tmp_path) as (rig, api):
        api.jobs[STARTUP] = {"metadata": {"name": STARTUP, "namespace": NAMESPACE, "uid": "u"}}
        outcome = await rig.open().act(ON)
        assert isinstance(outcome, Refused)
        assert outcome.why is Refusal.INVALID
        assert "hostler did not make" in outcome.text
        assert not api.deletions


async def test_a_job_of_another_template_is_replaced(tmp_path: Path) -> None:
    async with machine(tmp_path, limit=timedelta(seconds=60)) as (rig, api):
        api.ends = ""
        await rig.open().act(ON)
        api.jobs[STARTUP]["metadata"]["annotations"][TEMPLATE] = "other"
        await rig.open().act(ON)
        assert rig.arrived() == ("on", "on")


async def test_a_job_that_says_it_was_asked_for_in_the_future_is_replaced(tmp_path: Path) -> None:
    async with machine(tmp_path, limit=timedelta(seconds=60)) as (rig, api):
        api.ends = ""
        await rig.open().act(ON)
        later = rig.now() + timedelta(days=1)
        api.jobs[STARTUP]["metadata"]["annotations"]["hostler.dev/asked-at"] = later.isoformat()
        await rig.open().act(ON)
        assert rig.arrived() == ("on", "on")


@pytest.mark.parametrize(
    ("denied", "verb", "resource"),
    [
        (("GET", "pods"), "list", "pods"),
        (("GET", "jobs"), "list", "jobs"),
        (("POST", "jobs"), "create", "jobs"),
    ],
)
async def test_a_permission_that_is_missing_is_named_with_the_rule_that_grants_it(
    tmp_path: Path, denied: tuple[str, str], verb: str, resource: str
) -> None:
    async with machine(tmp_path) as (rig, api):
        api.forbidden = frozenset({denied})
        outcome = await rig.open().act(ON)
        assert isinstance(outcome, Refused)
        assert f'resources: ["{resource}"] verbs: ["{verb}"]' in outcome.text
        assert f"namespace: {NAMESPACE}" in outcome.text
        api.forbidden = frozenset()
        assert isinstance(await rig.open().act(ON), Done), "granted, it works at once"


def test_check_and_missing_name_what_is_wrong(tmp_path: Path) -> None:
    wrong = table(
        "no-such",
        node="Worker 1",
        namespace="a.b",
        on=None,
        off={
            "image": "i",
            "environment": {"A B": "1", "C": "2"},
            "secrets": {"C": "s/k"},
            "secret_files": {"keys": "s"},
        },
    )
    assert Job().check(wrong) == (
        "node: expected the name of a Node, such as worker-1",
        "namespace: expected the name of a namespace, such as hostler",
        "off.environment: expected the name of a variable instead of 'A B'",
        "off.secret_files: expected the name of a Secret for a whole path instead of 'keys'",
        "off.secrets: expected C once, not in environment too",
    )
    assert Job().check(table("k", on=None, off=None)) == (
        "on: expected what a Job runs, here or under off",
    )
    (lack,) = Job().missing(wrong, tmp_path, {})
    assert lack.key == "kubeconfig"
    assert Job().missing(table(""), tmp_path, {}) == ()


async def test_without_a_cluster_it_says_so(tmp_path: Path) -> None:
    async with machine(tmp_path) as (rig, _):
        rig.settings = table(str(tmp_path / "no-such"))
        with pytest.raises(ConfigError, match="kubeconfig"):
            rig.open()
