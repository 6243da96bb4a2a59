/** The plan of guarantees as lines for people, and the refusal when it is weaker than required. */
import type { Guarantee } from '../api/stream-execution-environment.ts';
import { formatDuration } from '../base/duration.ts';
import { GraphValidationError } from '../base/errors.ts';
import { seconds, shortfalls } from './guarantee-planner.ts';
import type { GuaranteePlan, PathGuarantee, TimeBudget } from './guarantee-planner.ts';

const LEVEL_COLUMN = 74;
const COLUMNS_MAX = 100;

/**
 * Lines of at most 100 columns, without a line break at the end. `refusals`: why the job cannot
 * start, so that it guarantees nothing; these are shown whole.
 */
export function explainGuarantees(
  plan: GuaranteePlan,
  refusals: readonly string[] = [],
): readonly string[] {
  const budgets = uniqueBudgets(plan).flatMap((budget) => [
    budgetLine(budget),
    ...maximumLines(budget),
  ]);
  const refused = refusals.map((reason) => `  the start is refused ✗ ${reason}`);
  const head = headLine(plan, refusals.length > 0);
  return [head, ...refused, ...plan.paths.flatMap(pathLines), ...budgets];
}

/**
 * Of sources that do not keep their records as long as checkpoints are kept, and of sinks whose
 * system may lose what it took.
 */
export function guaranteeWarnings({ paths }: GuaranteePlan): readonly string[] {
  const ofSinks = paths.flatMap(({ sink, warnings }) =>
    warnings.map((text) => `${sink.uid ?? sink.name}: ${text}`),
  );
  const ofSources = paths.flatMap(({ source, retention }) => {
    if (retention === null || retention.oldestMs === null) return [];
    const { retentionMs, name, oldestMs } = retention;
    if (oldestMs < retentionMs * (1 - RETENTION_LEFT_MIN)) return [];
    return [
      `the oldest checkpoint that is kept is ≈ ${formatDuration(oldestMs)} old, and ` +
        `${source.uid ?? source.name} can be read again for ${formatDuration(retentionMs)} ` +
        `(${name}): a restart from it would lose records; keep fewer checkpoints, take them more ` +
        'often, or raise the retention',
    ];
  });
  return [...new Set([...ofSources, ...ofSinks])];
}

/** Below this share of the retention that is left, people are warned. */
export const RETENTION_LEFT_MIN = 0.1;

export interface GuaranteeFacts {
  readonly level: Guarantee;
  readonly required: Guarantee | null;
  readonly paths: readonly (Pick<
    PathGuarantee,
    'level' | 'isPassingInconsistent' | 'weakest' | 'notes' | 'timeBudget' | 'retention'
  > & { readonly path: string })[];
}

/** The plan as plain data, for `--json`. */
export function guaranteeFacts({ level, required, paths }: GuaranteePlan): GuaranteeFacts {
  return {
    level,
    required,
    paths: paths.map((path) => ({
      path: pathName(path),
      level: path.level,
      isPassingInconsistent: path.isPassingInconsistent,
      weakest: path.weakest,
      notes: path.notes,
      timeBudget: path.timeBudget,
      retention: path.retention,
    })),
  };
}

/** @throws GraphValidationError when a path guarantees less than is required. */
export function checkRequiredGuarantee(plan: GuaranteePlan): void {
  const [first] = shortfalls(plan);
  if (first === undefined) return;
  const { level, weakest, timeBudget } = first;
  const reason =
    timeBudget?.isKept === false
      ? `its time budget is not kept: ${budgetLine(timeBudget)}`
      : `${weakest ?? 'no component can do better'}`;
  throw new GraphValidationError(
    `the guarantee ${plan.required} is required, and ${pathName(first)} reaches ${level}` +
      `${timeBudget?.isKept === false ? outage(timeBudget) : ''}: ${reason}. Change that, or ` +
      'lower env.requireGuarantee or weir.guarantee',
    { details: { required: plan.required, level, path: pathName(first) } },
  );
}

function headLine({ level, required, ...plan }: GuaranteePlan, isRefused: boolean): string {
  if (required === null) return `guarantee  ${level}`;
  const isMet = !isRefused && shortfalls({ level, required, ...plan }).length === 0;
  return `guarantee  ${level.padEnd(24)}required: ${required} ${isMet ? '✓' : '✗'}`;
}

function pathLines(path: PathGuarantee): readonly string[] {
  const passing = path.isPassingInconsistent ? ' (values may go back while recovering)' : '';
  const broken = path.timeBudget?.isKept === false ? outage(path.timeBudget) : '';
  const level = `${path.level}${passing}${broken}`;
  const name = `  ${pathName(path)}`;
  const isShort = name.length < LEVEL_COLUMN && LEVEL_COLUMN + level.length <= COLUMNS_MAX;
  const head = isShort ? [`${name.padEnd(LEVEL_COLUMN)}${level}`] : [name, `      ${level}`];
  const weakest = path.weakest === null ? [] : [`      weakest: ${path.weakest}`];
  return [...head, ...path.notes.map((note) => `      ${note}`), ...weakest];
}

function pathName({ source, sink, operators }: PathGuarantee): string {
  const stateful = operators.filter((it) => it.isStateful).map((it) => it.node);
  const [from, to] = [source, sink].map((node) => {
    const kind = node.spec.type === 'source' ? replayText(node.spec.source.replay) : writeOf(node);
    return `${node.uid ?? node.name} (${kind})`;
  });
  const middle = stateful.map((node) => node.uid ?? node.name);
  return [from, ...middle, to].join(' → ');
}

function replayText(replay: 'offsets' | 'none'): string {
  return replay === 'offsets' ? 'replayable' : 'not replayable';
}

function writeOf({ spec }: PathGuarantee['sink']): string {
  return spec.type === 'sink' ? spec.sink.write.replaceAll('-', ' ') : '';
}

function outage({ intervalMs, timeoutMs, transactionTimeoutMs }: TimeBudget): string {
  const left = Math.max(0, transactionTimeoutMs - intervalMs - timeoutMs);
  return ` until an outage of ${seconds(left)}`;
}

function budgetLine(budget: TimeBudget): string {
  const { intervalMs, timeoutMs, restartMs, neededMs, transactionTimeoutMs, isKept } = budget;
  return (
    `time budget  ${seconds(intervalMs)} interval + ${seconds(timeoutMs)} time-out + ` +
    `${seconds(restartMs)} restart = ${seconds(neededMs)} ${isKept ? '<' : '≥'} ` +
    `${seconds(transactionTimeoutMs)} transaction ${isKept ? '✓' : '✗'}`
  );
}

function maximumLines({ transactionTimeoutMs, maximum }: TimeBudget): readonly string[] {
  if (maximum === null) return [];
  const isAllowed = transactionTimeoutMs <= maximum.ms;
  return [
    `             ${seconds(transactionTimeoutMs)} transaction ${isAllowed ? '≤' : '>'} ` +
      `${seconds(maximum.ms)} ${maximum.name} ${isAllowed ? '✓' : '✗'}`,
  ];
}

function uniqueBudgets({ paths }: GuaranteePlan): readonly TimeBudget[] {
  const budgets = paths.map((path) => path.timeBudget).filter((budget) => budget !== null);
  return [...new Map(budgets.map((budget) => [budgetLine(budget), budget])).values()];
}
