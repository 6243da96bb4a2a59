/** All checks, in the order in which they are reported. */
import type { Check } from './check.ts';
import { bannedSyntax } from './checks/banned-syntax.ts';
import { changelog } from './checks/changelog.ts';
import { cliReference } from './checks/cli-reference.ts';
import { configReference } from './checks/config-reference.ts';
import { errorReference } from './checks/error-reference.ts';
import { floor } from './checks/floor.ts';
import { globals } from './checks/globals.ts';
import { headComments } from './checks/head-comments.ts';
import { internals } from './checks/internals.ts';
import { kafkaReference } from './checks/kafka-reference.ts';
import { layers } from './checks/layers.ts';
import { lockFile } from './checks/lock-file.ts';
import { machinePaths } from './checks/machine-paths.ts';
import { purity } from './checks/purity.ts';
import { reachability } from './checks/reachability.ts';
import { sizes } from './checks/sizes.ts';
import { testModifiers } from './checks/test-modifiers.ts';

export const CHECKS: readonly Check[] = [
  floor,
  layers,
  internals,
  globals,
  purity,
  bannedSyntax,
  sizes,
  headComments,
  testModifiers,
  reachability,
  errorReference,
  configReference,
  cliReference,
  kafkaReference,
  changelog,
  machinePaths,
  lockFile,
];
