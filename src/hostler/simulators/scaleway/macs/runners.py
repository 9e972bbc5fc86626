"""The provider's own runners: configurations that are applied to Macs by their ids."""

from typing import cast

from hostler.simulators.scaleway.api.checks import choice_of, object_of, owner_of, text_of, texts_of
from hostler.simulators.scaleway.api.pages import NEWER, listing
from hostler.simulators.scaleway.api.resource import Resource
from hostler.simulators.scaleway.state import errors
from hostler.simulators.scaleway.state.calls import Answer, Body, Call
from hostler.simulators.scaleway.state.inventory import Cloud
from hostler.simulators.scaleway.state.mac_records import Mac, Runner

from .bodies import SERVER, mac_of
from .images import ZONE

PATH = ZONE + "/runners"
RESOURCE = "runner"
KEYS = {
    "github": ("github_configuration", ("url", "token", "labels")),
    "gitlab": ("gitlab_configuration", ("url", "token")),
}
"""Where the settings of each sort of runner stand, and which there are."""


def create(cloud: Cloud, call: Call) -> Answer:
    """Make a configuration."""
    configuration, owner = configuration_of(call.body), owner_of(call)
    runner = Runner(
        **cloud.born(owner),
        name=configuration["name"],
        configuration=configuration,
    )
    cloud.runners.put(runner)
    return RUNNERS.answer(cloud, runner)


def configuration_of(body: Body) -> Body:
    """Return the configuration that a body has, with the settings of one sort and no other."""
    asked = object_of(body, "runner_configuration")
    provider = choice_of(asked, "provider")
    if provider not in KEYS:
        raise errors.invalid(("runner_configuration.provider", "constraint", "not a valid value"))
    configuration: Body = {"name": text_of(asked, "name"), "provider": provider}
    for sort, (key, names) in KEYS.items():
        settings = object_of(asked, key)
        if bool(settings) != (sort == provider):
            raise errors.invalid((f"runner_configuration.{key}", "constraint", provider))
        if settings:
            configuration[key] = {name: read(settings, name) for name in names}
    return configuration


def read(settings: Body, name: str) -> object:
    """Return one setting of a runner."""
    return texts_of(settings, name) if name == "labels" else text_of(settings, name)


def body_of(cloud: Cloud, runner: Runner) -> Body:
    """Return the body of a runner; that a Mac that has it enables it is our assumption."""
    at_work = any(runner.id in mac.runners and mac.delivered for mac in cloud.macs)
    return {
        "id": runner.id,
        "configuration": without_secrets(runner.configuration),
        "status": "enabled" if at_work else "disabled",
        "error_message": "",
    }


def without_secrets(configuration: Body) -> Body:
    """Return a configuration as it is shown: its token and its labels are not, as recorded."""
    hidden: Body = {"token": "", "labels": []}
    return {
        key: {name: hidden.get(name, one) for name, one in cast("Body", value).items()}
        if isinstance(value, dict)
        else value
        for key, value in configuration.items()
    }


RUNNERS: Resource[Runner] = Resource(
    stored=lambda cloud: cloud.runners,
    name=RESOURCE,
    body=body_of,
    style=NEWER.of("runners"),
)


def find(cloud: Cloud, call: Call) -> Runner:
    """Return the runner that a path names; one that was deleted may not be read, as recorded."""
    hidden = cloud.options.macs.deleted_status == "403"
    if hidden and call.names[0] in cloud.deleted_runners:
        raise errors.forbidden("read", SERVER)
    return RUNNERS.find(cloud, call)


def get(cloud: Cloud, call: Call) -> Answer:
    """Show a runner."""
    return RUNNERS.answer(cloud, find(cloud, call))


def update(cloud: Cloud, call: Call) -> Answer:
    """Change the configuration of a runner."""
    runner = find(cloud, call)
    runner.configuration = configuration_of(call.body)
    runner.name, runner.modified = runner.configuration["name"], cloud.now
    return RUNNERS.answer(cloud, runner)


def delete(cloud: Cloud, call: Call) -> Answer:
    """Delete a runner, and take it from the Macs that have it."""
    runner = find(cloud, call)
    cloud.deleted_runners.add(runner.id)
    for mac in cloud.macs:
        mac.runners = [one for one in mac.runners if one != runner.id]
    return RUNNERS.drop(cloud, runner)


def list_all(cloud: Cloud, call: Call) -> Answer:
    """List runners, by the Mac that has them, and by project."""
    project, server = call.id("project_id"), call.id("server_id")
    of_mac = mac_of(cloud, call, server).runners if server else None

    def keep(runner: Runner) -> bool:
        return project in ("", runner.project) and (of_mac is None or runner.id in of_mac)

    return RUNNERS.page(cloud, call, listing(cloud, call, cloud.runners, keep))


def apply(cloud: Cloud, call: Call, mac: Mac) -> None:
    """Give a Mac the runners that a body names, and no others; without any word, all stay."""
    if call.body.get("applied_runner_configurations") is None:
        return
    asked = object_of(call.body, "applied_runner_configurations")
    requested = texts_of(asked, "runner_configuration_ids")
    mac.runners = [cloud.find(cloud.runners, call, one, RESOURCE).id for one in requested]


ROUTES = RUNNERS.routes(
    "mac_runner", PATH, list=list_all, create=create, get=get, update=update, delete=delete
)
