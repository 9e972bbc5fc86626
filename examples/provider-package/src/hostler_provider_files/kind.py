"""FilesKind: what the fleet file may say of this provider, and how an account is opened.

The entry point in pyproject.toml names this class.
"""

from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct

from hostler.domain.model.machine import Offer
from hostler.ports.kind import Blueprint, Opening
from hostler.ports.provider import Provider
from hostler_provider_files.cloud import Cloud
from hostler_provider_files.provider import ZONE, FilesProvider

KEY = "FILES_CLOUD_KEY"


class FilesSettings(Struct, frozen=True, kw_only=True):
    """A [provider.NAME] table."""

    folder: Annotated[
        str, Meta(min_length=1, description="where the cloud is kept, seen from the fleet file")
    ] = "files-cloud"


class FilesTemplate(Struct, frozen=True, kw_only=True):
    """What a [fleet.NAME] table may say of its machines."""

    size_of_disk: Annotated[int, Meta(ge=1, description="of no effect: it is a toy")] = 1


class FilesKind:
    """The kind `files`."""

    settings = FilesSettings
    template = FilesTemplate

    def blueprint(self, settings: object, template: object, folder: Path) -> Blueprint:
        """Return the one thing on offer; a machine made from another template is outdated."""
        del settings, folder
        if not isinstance(template, FilesTemplate):
            raise TypeError(template)
        return Blueprint(
            offers=(Offer(type="folder", zone=ZONE),), digest=f"disk {template.size_of_disk}"
        )

    def open(self, opening: Opening) -> Provider:
        """Return the account; its key comes from the environment, never from the file."""
        if not isinstance(opening.settings, FilesSettings):
            raise TypeError(opening.settings)
        cloud = Cloud(
            opening.folder / opening.settings.folder,
            opening.environment.get(KEY, ""),
            opening.clock.now,
        )
        return FilesProvider(cloud, opening.installation, opening.clock)
