# SPDX-License-Identifier: Apache-2.0
"""The rules behind tools/tidy."""
