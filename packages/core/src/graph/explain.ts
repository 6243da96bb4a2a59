/**
 * The text of `weir explain`: one block a vertex, its chain drawn as a tree, with uid, states and
 * line of every operator, then where its records go. At most 100 columns; no colour, no trailing
 * blanks. Warnings are left to the caller, who has others to show with them.
 */
import type { StreamGraph } from '../api/stream-graph.ts';
import { DEFAULT_SLOT_SHARING_GROUP } from '../protocol/slots/slot-layout.ts';
import type { CompiledJob } from './compile-job-graph.ts';
import { explainJob } from './explain-job.ts';
import type {
  ExplainedJob,
  ExplainedOperator,
  ExplainedOutput,
  ExplainedVertex,
} from './explain-job.ts';

const COLUMNS_MAX = 100;
const INDENT = '    ';
/** Columns of an operator line: name with its branch, type, uid, place in the code. */
const NAME_MAX = 36;
const TYPE_MAX = 22;
const UID_MAX = 22;
const LOCATION_MAX = COLUMNS_MAX - INDENT.length - NAME_MAX - TYPE_MAX - UID_MAX;

interface OperatorLine {
  readonly cells: readonly [string, string, string, string];
  /** What the lines below begin with, down to the end of the operator's branch. */
  readonly branch: string;
  readonly operator: ExplainedOperator;
}

export { explainJob } from './explain-job.ts';

/** A compiled job as text: several lines, each ended by a line break. */
export function explain(compiled: CompiledJob, streamGraph: StreamGraph): string {
  return textOf(explainJob(compiled, streamGraph));
}

function textOf(job: ExplainedJob): string {
  const operators = job.vertices.flatMap((vertex) => vertex.operators).length;
  const facts = [
    count(job.vertices.length, 'vertex', 'vertices'),
    count(operators, 'operator', 'operators'),
    count(job.slots, 'slot', 'slots'),
    `plan ${job.planHash.slice(0, 12)}`,
  ];
  const lines = new Map(job.vertices.map((vertex) => [vertex, operatorLines(vertex)]));
  const widths = columnWidths([...lines.values()].flat());
  const blocks = [...lines].map(([vertex, own]) =>
    [
      vertexTitle(vertex),
      ...own.flatMap((line) => [row(line.cells, widths), ...stateLines(line)]),
      ...vertex.outputs.map((output) => outputLine(vertex, output)),
    ].join('\n'),
  );
  return [[fit(job.jobName, COLUMNS_MAX), facts.join(' · ')].join('\n'), ...blocks]
    .map((block) => `${block}\n`)
    .join('\n');
}

function vertexTitle(vertex: ExplainedVertex): string {
  const facts = [`parallelism ${vertex.parallelism}`];
  if (vertex.keyed) facts.push(count(vertex.maxParallelism, 'key group', 'key groups'));
  if (vertex.slotSharingGroup !== DEFAULT_SLOT_SHARING_GROUP)
    facts.push(`slots of group "${vertex.slotSharingGroup}"`);
  return fit(`[${vertex.number}] ${facts.join(', ')}`, COLUMNS_MAX);
}

/** The operators depth first, as the chain holds them, each with its branch of the tree. */
function operatorLines({ operators }: ExplainedVertex): readonly OperatorLine[] {
  const branches: string[] = [];
  return operators.map((operator, place) => {
    const behind = operator.chainedBehind;
    const isLast = !operators.some((it, i) => i > place && it.chainedBehind === behind);
    const above = behind === null ? '' : (branches[behind] ?? '');
    const elbow = behind === null ? '' : isLast ? '└─ ' : '├─ ';
    const branch = behind === null ? '' : `${above}${isLast ? '   ' : '│  '}`;
    branches.push(branch);
    const sideOutput = operator.sideOutput === null ? '' : ` (of ${operator.sideOutput})`;
    const name = `${above}${elbow}${operator.name}${sideOutput}`;
    const uid = operator.uid === null ? 'no uid' : `uid ${operator.uid}`;
    const cells = [name, operator.type, uid, operator.location ?? ''] as const;
    const hasChained = operators.some(({ chainedBehind }) => chainedBehind === place);
    return { cells, branch: `${branch}${hasChained ? '│  ' : '   '}`, operator };
  });
}

function stateLines({ branch, operator }: OperatorLine): readonly string[] {
  if (operator.states.length === 0) return [];
  const names = operator.states.map(({ name, kind }) =>
    name === kind ? name : `${name} (${kind})`,
  );
  const indent = `${INDENT}${branch}`;
  return wrap(`${indent}state: ${names.join(', ')}`, COLUMNS_MAX, `${indent}  `);
}

function outputLine({ operators }: ExplainedVertex, output: ExplainedOutput): string {
  const from = operators.length === 1 ? '' : `${operators[output.operator]?.name ?? ''} `;
  const notes = [
    output.sideOutput === null ? null : `side output ${output.sideOutput}`,
    output.inputIndex === 0 ? null : 'second input',
  ].filter((note) => note !== null);
  const note = notes.length === 0 ? '' : ` (${notes.join(', ')})`;
  const arrow = `──${output.partitioner}──▶`;
  return fit(
    `${INDENT}${from}${arrow} [${output.target}] ${output.targetName}${note}`,
    COLUMNS_MAX,
  );
}

/** Place of the location among the cells of a row. */
const LOCATION = 3;

function columnWidths(lines: readonly OperatorLine[]): readonly number[] {
  return [NAME_MAX, TYPE_MAX, UID_MAX, LOCATION_MAX].map((max, column) =>
    Math.min(max, Math.max(0, ...lines.map(({ cells }) => width(cells[column] ?? '') + 2))),
  );
}

function row(cells: readonly string[], widths: readonly number[]): string {
  const padded = cells.map((cell, column) => {
    const columns = widths[column] ?? 0;
    // Of a location the end counts: the line.
    const text = column === LOCATION ? fitEnd(cell, columns - 2) : fit(cell, columns - 2);
    return text + ' '.repeat(columns - width(text));
  });
  return `${INDENT}${padded.join('')}`.trimEnd();
}

/** Breaks a text at blanks; the lines after the first begin with `indent`. */
function wrap(text: string, columns: number, indent: string): readonly string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(/(?<=\S) /)) {
    const longer = line === '' ? word : `${line} ${word}`;
    if (line !== '' && width(longer) > columns) {
      lines.push(line);
      line = `${indent}${word}`;
    } else {
      line = longer;
    }
  }
  return [...lines, line].map((it) => fit(it, columns));
}

function fit(text: string, columns: number): string {
  const characters = Array.from(text);
  if (characters.length <= columns) return text;
  return `${characters.slice(0, Math.max(0, columns - 1)).join('')}…`;
}

function fitEnd(text: string, columns: number): string {
  const characters = Array.from(text);
  if (characters.length <= columns) return text;
  return `…${characters.slice(characters.length - Math.max(0, columns - 1)).join('')}`;
}

function width(text: string): number {
  return Array.from(text).length;
}

function count(number: number, one: string, many: string): string {
  return `${number} ${number === 1 ? one : many}`;
}
