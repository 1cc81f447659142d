#!/bin/sh
# SPDX-License-Identifier: MIT
# Patterns match characters: a class of katakana drops the line of katakana and no other; a line in Latin-1 is bytes.
. tests/tools/mount.sh
# shellcheck disable=SC2016
rules='[K2HFTFUSE_RULE]
TARGET = drop.log
TRUNS = on
DEFAULTALL = ALLOW
DENY = "[ァ-ヶ]"
[K2HFTFUSE_RULE]
TARGET = first.log
TRUNS = on
DEFAULTALL = DENY
ALLOW = "^(..)", "$1"'
start_receiver
start_mount
printf 'カタカナ\nひらがな\nascii\n漢字\nécole\n\351t\351 Latin-1\n' >"$work/in"
for file in drop.log first.log; do
	quick sh -c "cat '$work/in' >'$mnt/$file'" || fail "$file"
done
printf 'ひらがな\nascii\n漢字\nécole\n\351t\351 Latin-1\n' >"$work/dropped"
arrives "$work/dropped" drop.log
printf 'カタ\nひら\nas\n漢字\néc\n\351t\n' >"$work/first"
arrives "$work/first" first.log
