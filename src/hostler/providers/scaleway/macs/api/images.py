"""Images: which one a host is wiped to: the newest of the family that is asked for.

The list is read again for each wipe, so that no image that was retired since is ever asked for.
"""

import re
from collections.abc import Iterable

from hostler.domain.ids import Zone
from hostler.providers.scaleway.common.errors import TROUBLE

from .endpoints import MacApi
from .wire import Os

_VERSION = re.compile(r"-(?=\d)")
_NUMBER = re.compile(r"\d+")


def family_key(text: str) -> str:
    """Return what families are compared by: `macOS Golden Gate` and `macos-golden-gate-27.0` agree.

    Lower case, without `macos-` before and a version behind, without spaces, dashes, underscores.
    """
    plain = text.strip().lower().removeprefix("macos-").removeprefix("macos ")
    return re.sub(r"[\s_-]", "", _VERSION.split(plain)[0])


def is_family(text: str) -> bool:
    """Tell whether a text names a family, and not one image of it."""
    return bool(family_key(text)) and not _VERSION.search(text.strip())


def version_key(image: Os) -> tuple[tuple[int, ...], str]:
    """Return what images of a family are ordered by: numbers by their value, then the text."""
    text = image.version or image.name or ""
    return tuple(int(number) for number in _NUMBER.findall(text)[:8]), text


def families(images: Iterable[Os], type_name: str) -> tuple[str, ...]:
    """Return the families of which a type can boot an image."""
    names = {
        image.family or ""
        for image in images
        if _fits(image, family_key(image.family or ""), type_name)
    }
    return tuple(sorted(names - {""}))


def newest(images: Iterable[Os], family: str, type_name: str) -> Os | None:
    """Return the newest image of a family that a type can boot; None where none is published."""
    fitting = (image for image in images if _fits(image, family_key(family), type_name))
    return max(fitting, key=version_key, default=None)


def _fits(image: Os, family: str, type_name: str) -> bool:
    types = {entry.server_type for entry in image.supported_server_types or ()}
    types |= set(image.compatible_server_types or ())
    same = family_key(image.family or image.name or "") == family
    return same and not image.is_beta and (not types or type_name in types)


class Images:
    """Asks for the image of a wipe."""

    def __init__(self, api: MacApi) -> None:
        self._api = api

    async def choose(self, zone: Zone, type_name: str, family: str) -> tuple[str, str]:
        """Return the image's id, and a warning where the family is not published any more.

        Then the id is empty: the host gets its type's usual image, for a pin that was retired must
        keep no host from being wiped. Raises errors.TROUBLE where the list could not be read.
        """
        listing = await self._api.images(zone, type_name)
        if isinstance(listing.trouble, TROUBLE):
            raise listing.trouble
        found = newest(listing.found.values(), family, type_name)
        if found is not None:
            return found.id, ""
        return "", f"OSPinUnavailable: no image of {family} is published for {type_name}"
