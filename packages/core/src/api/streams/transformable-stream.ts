/**
 * The operations that every stream has, keyed or not: stateless transformations and sinks.
 */
import { functionObject, graphError, requireFunction, requireMethods } from '../function-checks.ts';
import type { FilterFunction, FlatMapFunction, MapFunction } from '../functions.ts';
import { collectSink, forEachSink, printSink } from '../callback-sinks.ts';
import type { Sink } from '../sink.ts';
import type { OperatorSpec } from '../stream-graph.ts';
import { DataStreamSink } from './data-stream-sink.ts';
import type { SingleOutputStreamOperator } from './single-output-stream-operator.ts';
import { callSite } from './stream-context.ts';
import type { StreamParts } from './stream-context.ts';

export class TransformableStream<T> {
  readonly #parts: StreamParts;

  /** Streams come from `env.fromSource` and from other streams. */
  constructor(parts: StreamParts) {
    this.#parts = parts;
  }

  /** For the classes of the API: what the stream is made of. */
  static partsOf(stream: TransformableStream<unknown>): StreamParts {
    return stream.#parts;
  }

  /** One result for each record. */
  map<R>(fn: ((value: T) => R) | MapFunction<T, R>): SingleOutputStreamOperator<R> {
    const at = callSite(this.#parts.context, this, 'map');
    return this.#operator(at, 'Map', { type: 'map', fn: functionObject(at, fn, 'map') });
  }

  /** Keeps the records for which `fn` returns true; a type predicate narrows the stream. */
  filter<S extends T>(fn: (value: T) => value is S): SingleOutputStreamOperator<S>;
  filter(fn: ((value: T) => boolean) | FilterFunction<T>): SingleOutputStreamOperator<T>;
  filter(fn: ((value: T) => boolean) | FilterFunction<T>): SingleOutputStreamOperator<T> {
    const at = callSite(this.#parts.context, this, 'filter');
    return this.#operator(at, 'Filter', { type: 'filter', fn: functionObject(at, fn, 'filter') });
  }

  /**
   * Any number of results for each record: return them (an array, a generator), or call `emit` for
   * each, whose type is then to be written: `(line, emit: (word: string) => void) => …`.
   */
  flatMap<R>(
    fn: ((value: T, emit: (result: R) => void) => Iterable<R> | void) | FlatMapFunction<T, R>,
  ): SingleOutputStreamOperator<R> {
    const at = callSite(this.#parts.context, this, 'flatMap');
    return this.#operator(at, 'FlatMap', {
      type: 'flatMap',
      fn: functionObject(at, fn, 'flatMap'),
    });
  }

  /** Ends the stream in a sink. */
  sinkTo(sink: Sink<T>): DataStreamSink {
    const at = callSite(this.#parts.context, this, 'sinkTo');
    requireMethods(at, sink, ['createWriter'], 'a sink, an object with a method createWriter');
    if (typeof sink.name !== 'string') throw graphError(at, 'the sink has no name');
    return this.#sink(at, sink);
  }

  /** Writes each record as a line to the console of the run, after `label` when there is one. */
  print(label?: string): DataStreamSink {
    const at = callSite(this.#parts.context, this, 'print');
    return this.#sink(at, printSink(label ?? null, this.#parts.context.printLine));
  }

  /** Calls `fn` for each record; after a failure it is called again for some. */
  forEach(fn: (value: T) => void): DataStreamSink {
    const at = callSite(this.#parts.context, this, 'forEach');
    requireFunction(at, fn, 'a function');
    return this.#sink(at, forEachSink(fn));
  }

  /** Pushes each record into an array: for jobs that run in the thread that made the array. */
  collect(into: T[]): DataStreamSink {
    const at = callSite(this.#parts.context, this, 'collect');
    if (!Array.isArray(into)) throw graphError(at, 'expected the array to collect into');
    return this.#sink(at, collectSink(into));
  }

  #operator<R>(
    at: ReturnType<typeof callSite>,
    name: string,
    spec: OperatorSpec,
  ): SingleOutputStreamOperator<R> {
    const { context, upstream } = this.#parts;
    const inputs = [{ upstream, keySelector: null }] as const;
    return context.operatorStream(context.graph.addOperator({ at, name, spec, inputs }));
  }

  #sink(at: ReturnType<typeof callSite>, sink: Sink<T>): DataStreamSink {
    const { context, upstream } = this.#parts;
    const spec: OperatorSpec = { type: 'sink', sink };
    const name = `Sink: ${sink.name}`;
    const inputs = [{ upstream, keySelector: null }] as const;
    return new DataStreamSink(context.graph.addOperator({ at, name, spec, inputs }));
  }
}

/** For the classes of the API: what a stream is made of. */
export function partsOf(stream: TransformableStream<unknown>): StreamParts {
  return TransformableStream.partsOf(stream);
}
