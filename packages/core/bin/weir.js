#!/usr/bin/env node
// The `weir` command. Plain old syntax on purpose: an old Node must be able to parse this file, so
// that it says in one line what is needed instead of dying on a syntax error further in.
// Importing cli/main runs the command: from the TypeScript sources in a checkout, from their
// compiled form in an installed package.
import { existsSync } from 'fs';

var needed = [22, 22];
var found = process.versions.node.split('.').map(Number);

if (found[0] < needed[0] || (found[0] === needed[0] && found[1] < needed[1])) {
  process.stderr.write(
    'weir needs Node ' +
      needed.join('.') +
      ' or newer, this is Node ' +
      process.versions.node +
      ': install a newer Node from https://nodejs.org/en/download and run the command again.\n',
  );
  process.exit(2);
}

var sources = new URL('../src/cli/main.ts', import.meta.url);
var compiled = new URL('../lib/cli/main.js', import.meta.url);
import(existsSync(sources) ? sources.href : compiled.href);
