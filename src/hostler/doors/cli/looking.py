"""Looking: whether a look showed enough for anything to be said."""

from hostler.domain.errors import ProviderError
from hostler.domain.seen import Seen


def whole(seen: Seen) -> None:
    """Raise ProviderError where nothing could be looked at whole: then nothing can be said."""
    if seen.view.failed and not seen.view.whole:
        errors = dict.fromkeys(looked.error for looked in seen.view.failed.values())
        raise ProviderError("the provider could not be looked at: " + "; ".join(errors))
