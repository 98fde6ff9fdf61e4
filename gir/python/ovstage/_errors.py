# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The libovstage authors

"""The exceptions of the package."""

from ._enums import ErrorCode


class OvstageError(RuntimeError):
    """A request that was refused or failed; a RuntimeError.

    code: an ErrorCode.
    message: names the argument or field, the value found and the value expected.
    """

    code: ErrorCode
    message: str

    def __init__(self, code: int, message: str = "") -> None:
        super().__init__(code, message)
        try:
            self.code = ErrorCode(code)
        except ValueError:
            # A later library may know more codes than this package.
            self.code = code  # type: ignore[assignment]
        self.message = message

    def __str__(self) -> str:
        name = getattr(self.code, "name", str(self.code))
        return f"{name}: {self.message}" if self.message else name


class OvxError(OvstageError):
    """An error of a PathDictionary; an OvstageError."""
