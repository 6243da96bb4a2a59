/**
 * Puts sources and sinks in memory into the graph of a job, in place of those it names. Runs for
 * every attempt of every subtask, as the job's own function does, so it must always do the same.
 */
import { ConfigurationError } from '@weir/core';
import type { StreamGraph, StreamNode } from '@weir/core/internal/api/stream-graph';
import { memorySink } from './memory-sinks.ts';
import type { MemorySinkOptions } from './memory-sinks.ts';
import { memorySource } from './memory-source.ts';
import type { Pace } from './memory-source.ts';
import { ownRecords, sourceInput } from './source-input.ts';
import type { InputRecords, SourceInput } from './source-input.ts';

/** By the key of the source. */
export type Inputs = ReadonlyMap<string, SourceInput>;

export interface EndOptions {
  readonly inputs: Inputs;
  readonly pace: Pace;
  readonly onRead: (source: string, split: number, next: number) => void;
  readonly sink: Omit<MemorySinkOptions, 'key'>;
}

/** The key of each node of a kind: its uid, or its name, with a number where that is not unique. */
export function keysOf(graph: StreamGraph, type: 'source' | 'sink'): ReadonlyMap<number, string> {
  const keys = new Map<number, string>();
  const taken = new Set<string>();
  for (const { id, uid, name, spec } of graph.nodes) {
    if (spec.type !== type) continue;
    const wanted = uid ?? plainName(name);
    let key = wanted;
    for (let number = 2; taken.has(key); number++) key = `${wanted} ${number}`;
    taken.add(key);
    keys.set(id, key);
  }
  return keys;
}

export function replaceEnds(graph: StreamGraph, options: EndOptions): StreamGraph {
  const sinks = keysOf(graph, 'sink');
  const sources = keysOf(graph, 'source');
  const nodes = graph.nodes.map((node): StreamNode => {
    const { spec } = node;
    if (spec.type === 'sink') {
      const sink = memorySink(spec.sink, { ...options.sink, key: sinks.get(node.id) ?? '' });
      return { ...node, spec: { ...spec, sink } };
    }
    if (spec.type !== 'source') return node;
    const key = sources.get(node.id) ?? '';
    const source = memorySource({
      name: spec.source.name,
      replay: spec.source.replay,
      splits: options.inputs.get(key) ?? [],
      pace: options.pace,
      onRead: (split, next) => options.onRead(key, split, next),
    });
    return { ...node, spec: { ...spec, source } };
  });
  return { ...graph, nodes };
}

/**
 * The input of every source of a job, by key.
 * @throws ConfigurationError for a source without input, and for input without a source.
 */
export function inputsOf(
  graph: StreamGraph,
  given: Readonly<Record<string, InputRecords>>,
): Inputs {
  const keys = keysOf(graph, 'source');
  const inputs = new Map<string, SourceInput>();
  const unused = new Set(Object.keys(given));
  for (const node of graph.nodes) {
    if (node.spec.type !== 'source') continue;
    const key = keys.get(node.id) ?? '';
    const called = [key, plainName(node.name)].find((one) => Object.hasOwn(given, one)) ?? key;
    unused.delete(called);
    const records = given[called];
    const input = records === undefined ? ownRecords(node.spec.source) : sourceInput(records);
    if (input === null) throw withoutInput(node, key);
    inputs.set(key, input);
  }
  const known = [...keys.values()].map((key) => `"${key}"`).join(', ');
  for (const name of unused)
    throw new ConfigurationError(
      `simulate: input is given for "${name}", but job "${graph.jobName}" has no such source; ` +
        `it has ${known}`,
    );
  return inputs;
}

function plainName(name: string): string {
  return name.replace(/^(Source|Sink): /, '');
}

function withoutInput({ name, location }: StreamNode, key: string): ConfigurationError {
  const place = location === null ? '' : ` (${location})`;
  return new ConfigurationError(
    `simulate: there is no input for ${name}${place}; give its records: ` +
      `input: { ${JSON.stringify(key)}: [ … ] }`,
  );
}
