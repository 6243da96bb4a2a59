/**
 * Whether settings fit each other, and whether this version can honour them. Called once all layers
 * are merged, before anything runs.
 */
import { CONFIG_OPTIONS } from './config-options.ts';
import type { ConfigKey } from './config-options.ts';
import type { Configuration } from './configuration.ts';
import { formatDuration } from './duration.ts';
import { ConfigurationError } from './errors.ts';
import { formatConfigValue } from './options/config-value.ts';

/**
 * Checks a whole configuration and returns warnings, a sentence each.
 * @throws ConfigurationError CONFIG_INVALID for settings that exclude each other,
 * CONFIG_UNSUPPORTED for one that this version cannot honour.
 */
export function checkConfiguration(configuration: Configuration): readonly string[] {
  for (const rule of RULES) {
    const fault = rule(configuration);
    if (fault !== null) throw new ConfigurationError(fault);
  }
  for (const key of configuration.keys()) refuseUnsupported(configuration, key);
  return [...configuration.warnings, ...WARNINGS.flatMap((rule) => rule(configuration) ?? [])];
}

type Rule = (configuration: Configuration) => string | null;

const RULES: readonly Rule[] = [
  (c) =>
    c.get('execution.checkpointing.unaligned.enabled') &&
    c.get('execution.checkpointing.max-concurrent-checkpoints') > 1
      ? 'execution.checkpointing.unaligned.enabled and ' +
        'execution.checkpointing.max-concurrent-checkpoints above 1 exclude each other: ' +
        'set one of them back'
      : null,
  backlogFault,
  (c) =>
    (c.get('restart-strategy.type') ?? 'none') !== 'none' &&
    c.get('execution.checkpointing.interval') === null
      ? `restart-strategy.type: ${c.get('restart-strategy.type')} needs checkpoints, else a ` +
        'restart would lose or repeat records: set execution.checkpointing.interval'
      : null,
  (c) =>
    c.get('execution.checkpointing.unaligned.during-recovery.enabled') &&
    !c.get('execution.checkpointing.unaligned.recover-output-on-downstream.enabled')
      ? 'execution.checkpointing.unaligned.during-recovery.enabled needs ' +
        'execution.checkpointing.unaligned.recover-output-on-downstream.enabled'
      : null,
  (c) => ordered(c, 'heartbeat.interval', 'heartbeat.timeout', 'strictly'),
  (c) => ordered(c, 'parallelism.default', 'pipeline.max-parallelism'),
  (c) => ordered(c, 'weir.task.stall-warning', 'weir.task.stall-timeout'),
  (c) =>
    ordered(
      c,
      'restart-strategy.exponential-delay.initial-backoff',
      'restart-strategy.exponential-delay.max-backoff',
    ),
  (c) =>
    ordered(
      c,
      'state.changelog.dstl.dfs.batch.persist-size-threshold',
      'state.changelog.dstl.dfs.upload.max-in-flight',
    ),
];

const WARNINGS: readonly Rule[] = [
  (c) =>
    c.get('execution.checkpointing.unaligned.enabled') &&
    c.get('execution.checkpointing.mode') === 'AT_LEAST_ONCE'
      ? 'execution.checkpointing.unaligned.enabled has no effect in mode AT_LEAST_ONCE'
      : null,
  (c) =>
    c.get('execution.checkpointing.min-pause') > 0 &&
    c.get('execution.checkpointing.max-concurrent-checkpoints') > 1
      ? 'execution.checkpointing.min-pause above 0 means one checkpoint at a time, whatever ' +
        'execution.checkpointing.max-concurrent-checkpoints says'
      : null,
];

function backlogFault(c: Configuration): string | null {
  const key = 'execution.checkpointing.interval-during-backlog';
  const backlog = c.get(key);
  const interval = c.get('execution.checkpointing.interval');
  if (backlog === null || backlog === 0) return null;
  const least = Math.max(10, interval ?? 0);
  if (backlog >= least) return null;
  return (
    `${key}: ${formatDuration(backlog)} is not allowed; allowed: 0 (no checkpoints then), ` +
    `or at least ${formatDuration(least)} (execution.checkpointing.interval)`
  );
}

/** The first setting must not be above the second; `null` on either side fits. */
function ordered(
  c: Configuration,
  low: ConfigKey,
  high: ConfigKey,
  how: 'strictly' | 'loosely' = 'loosely',
): string | null {
  const small = c.get(low);
  const large = c.get(high);
  if (typeof small !== 'number' || typeof large !== 'number') return null;
  if (small < large || (how === 'loosely' && small === large)) return null;
  const shown = [low, high].map(
    (key) => `${key} (${formatConfigValue(CONFIG_OPTIONS[key], c.get(key))})`,
  );
  return `${shown[0]} must ${how === 'strictly' ? 'be below' : 'not be above'} ${shown[1]}`;
}

function refuseUnsupported(c: Configuration, key: ConfigKey): void {
  const option = CONFIG_OPTIONS[key];
  const value = c.get(key);
  const isRefused =
    option.supported === false
      ? value !== option.default
      : option.type === 'enum' && (option.unsupportedValues?.includes(String(value)) ?? false);
  if (!isRefused) return;
  throw new ConfigurationError(
    `${key}: ${formatConfigValue(option, value)} (${c.originOf(key)}) is not supported by this ` +
      `version; leave it at ${formatConfigValue(option, option.default)}`,
    { code: 'CONFIG_UNSUPPORTED', details: { key, value } },
  );
}
