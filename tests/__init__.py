"""The suite; a package so that its parts can share tests.support."""
