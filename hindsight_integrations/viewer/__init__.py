"""The viewer: a memory shown, searched and corrected in a browser; needs the extra `service`.

Importing it without that extra raises `MissingExtraError`.
"""

from hindsight_integrations.errors import MissingExtraError

try:
    from hindsight_integrations.viewer.app import viewer_app
except ModuleNotFoundError as error:
    raise MissingExtraError(
        f"the viewer needs {error.name}, which is not installed; run: "
        'pip install "hindsight-integrations[service]"'
    ) from error

__all__ = ["viewer_app"]
