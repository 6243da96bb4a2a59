/**
 * Builds the job of a spec with the public API, as a user would. What the functions find wrong
 * (state that went back, a timer without its state) is reported to the world, since only they can
 * see it.
 */
import type { Job } from '@weir/core/internal/api/job';
import { job } from '@weir/core/internal/api/job';
import {
  broadcastState,
  listState,
  mapState,
  operatorListState,
  reducingState,
  unionListState,
  valueState,
} from '@weir/core/internal/api/state-descriptors';
import type { DataStream } from '@weir/core/internal/api/streams/data-stream';
import { outputTag, type } from '@weir/core/internal/api/type-markers';
import type {
  SingleOutputStreamOperator,
  StreamExecutionEnvironment,
} from '@weir/core/internal/index';
import { monotonousTimestamps } from '@weir/core/internal/api/watermarks';
import type { Sink } from '@weir/core/internal/api/sink';
import type { Random } from '@weir/core/internal/base/random';
import { fileSource } from '@weir/core/internal/connectors/file-source';
import { ndjson } from '@weir/core/internal/connectors/formats/ndjson';
import { inputFolder } from './input-files.ts';
import type { JobSpec, OperatorSpec, SinkSpec, SourceSpec } from './job-spec.ts';
import { versionedProcess } from './versioned-process.ts';
import { addToWindow, stepOf } from './recount.ts';
import type { WindowSum } from './recount.ts';
import type { SimulatedRecord } from './simulated-record.ts';
import { simulatedSource } from './simulated-source.ts';

/** What the functions of a job are connected with. */
export interface JobWorld {
  /** For functions whose choices must not repeat. */
  readonly random: Random;
  readonly exactlyOnce: boolean;
  /**
   * Event time is restored: barriers are aligned, parallelism stays, and no input was ever left out
   * as idle.
   */
  readonly keepsEventTime: boolean;
  /** Of the job, when it is built; 1 if not given. */
  version?(): number;
  /** Chance that a fragile function throws; changes with the faults. */
  fragility(): number;
  violated(message: string): void;
  sinkOf(spec: SinkSpec): Sink<SimulatedRecord>;
}

type Stream = DataStream<SimulatedRecord>;
/** Later than any record. */
const END_OF_TIME = 1e15;
const record = type<SimulatedRecord>();

export function buildJob(spec: JobSpec, world: JobWorld): Job {
  return job(spec.name, (env) => {
    if (!spec.chaining) env.disableOperatorChaining();
    const streams: Stream[] = [];
    for (const stream of spec.streams)
      streams.push(
        stream.type === 'source'
          ? fromSource(env, stream)
          : new OperatorBuilder(stream, streams, world).build(),
      );
    for (const sink of spec.sinks) {
      const built = (streams[sink.input] as Stream).sinkTo(world.sinkOf(sink)).uid(sink.name);
      if (sink.parallelism !== null) built.setParallelism(sink.parallelism);
    }
  });
}

function fromSource(env: StreamExecutionEnvironment, spec: SourceSpec): Stream {
  const { name, parallelism, idlenessMs } = spec;
  const options = {
    uid: name,
    watermarks: monotonousTimestamps<SimulatedRecord>(
      (value) => value.ts,
      idlenessMs === null ? {} : { idleness: idlenessMs },
    ),
    ...(parallelism === null ? {} : { parallelism }),
  };
  if (spec.reader === 'simulated') return env.fromSource(simulatedSource(spec), options);
  const files = fileSource({
    path: inputFolder(spec),
    format: ndjson<SimulatedRecord>(),
    // About as fast as the simulated source.
    rate: (1000 * spec.burst) / spec.pauseMs,
    splitSizeBytes: 100 * spec.keys,
  });
  return env.fromSource(files, options);
}

class OperatorBuilder {
  readonly #spec: OperatorSpec;
  readonly #streams: readonly Stream[];
  readonly #world: JobWorld;

  constructor(spec: OperatorSpec, streams: readonly Stream[], world: JobWorld) {
    this.#spec = spec;
    this.#streams = streams;
    this.#world = world;
  }

  build(): Stream {
    switch (this.#spec.kind) {
      case 'map':
        return this.#placed(
          this.#first().map((value) => {
            const id = this.#id(value.id);
            return { ...value, id, key: stepOf.key(id) };
          }),
        );
      case 'filter':
        return this.#placed(
          this.#first()
            .filter((value) => stepOf.keeps(value.id))
            .map((value) => this.#renamed(value)),
        );
      case 'flatMap':
        return this.#placed(
          this.#first().flatMap((value) =>
            Array.from({ length: stepOf.copies(value.id) }, (_copy, index) =>
              this.#renamed(value, `.${index}`),
            ),
          ),
        );
      case 'fragile':
        return this.#placed(
          this.#first().map((value) => {
            if (this.#world.random.next() < this.#world.fragility())
              throw new Error('a function that fails now and then');
            return this.#renamed(value);
          }),
        );
      case 'coin':
        return this.#coin();
      case 'all':
        return this.#all();
      case 'union':
        return this.#placed(
          this.#first()
            .map((value) => this.#renamed(value, 'a'))
            .uid(`${this.#spec.name}a`)
            .union(
              this.#second()
                .map((value) => this.#renamed(value, 'b'))
                .uid(`${this.#spec.name}b`),
            )
            .map((value) => value),
        );
      case 'count':
        return this.#count();
      case 'aggregate':
        return this.#aggregate();
      case 'window':
        return this.#window();
      case 'hold':
        return this.#hold();
      case 'session':
        return this.#session();
      case 'buffer':
        return this.#buffer();
      case 'owners':
        return this.#owners();
      case 'join':
        return this.#join();
      case 'rules':
        return this.#rules();
      case 'versioned':
        return this.#placed(versionedProcess(this.#first(), this.#spec.name, this.#world));
    }
  }

  #count(): Stream {
    const { name } = this.#spec;
    return this.#placed(
      this.#first()
        .keyBy((value) => value.key)
        .process({
          emits: record,
          state: {
            count: valueState({ default: 0 }),
            watermark: valueState({ default: -Infinity }),
            seen: mapState<string, number>(),
            total: reducingState((a: number, b: number) => a + b),
          },
          onElement: (value, context) => {
            const { count, watermark, seen } = context.state;
            const n = count.value + 1;
            count.update(n);
            context.state.total.add(1);
            this.#checkWatermark(watermark.value, context.currentWatermark);
            watermark.update(context.currentWatermark);
            if (this.#world.exactlyOnce && seen.has(value.id))
              this.#world.violated(`${value.id} is counted twice in the state of ${name}`);
            seen.put(value.id, n);
            context.emit(this.#counted(value, n));
          },
        }),
    );
  }

  #aggregate(): Stream {
    return this.#placed(
      this.#first()
        .keyBy((value) => value.key)
        .aggregate<{ n: number; last: SimulatedRecord | null }, SimulatedRecord>({
          createAccumulator: () => ({ n: 0, last: null }),
          add: (value, { n }) => ({ n: n + 1, last: value }),
          getResult: ({ n, last }) => this.#counted(last as SimulatedRecord, n),
        }),
    );
  }

  #window(): Stream {
    const { name, size } = this.#spec;
    return this.#placed(
      this.#first()
        .keyBy((value) => value.key)
        .process({
          emits: record,
          state: { sums: mapState<number, WindowSum>() },
          onElement: (value, context) => {
            const { id } = value;
            const end = stepOf.windowEnd(value.ts, size);
            if (context.currentWatermark >= end - 1)
              this.#world.violated(`${id} came to ${name} after the end ${end} of its window`);
            const { sums } = context.state;
            sums.put(end, addToWindow(sums.get(end) ?? { count: 0, hash: 0 }, id));
            context.timerService.registerEventTimeTimer(end - 1);
          },
          onTimer: (timestamp, context) => {
            const end = timestamp + 1;
            const sum = context.state.sums.get(end);
            context.state.sums.remove(end);
            if (sum === undefined) {
              this.#world.violated(`a timer of ${name} fired, but its window is not in the state`);
              return;
            }
            const { key } = context;
            const id = stepOf.windowId(name, key, end, sum);
            context.emit({ id, key, ts: timestamp, counts: [] });
          },
        }),
    );
  }

  #hold(): Stream {
    const { size } = this.#spec;
    return this.#placed(
      this.#first()
        .keyBy((value) => value.key)
        .process({
          emits: record,
          state: { held: listState<SimulatedRecord>() },
          onElement: (value, context) => {
            // What a buffer gives away at its end comes behind the last watermark, as in Flink.
            if (context.currentWatermark > END_OF_TIME) return context.emit(this.#renamed(value));
            context.state.held.add(value);
            const { timerService } = context;
            timerService.registerProcessingTimeTimer(timerService.currentProcessingTime + size);
            timerService.registerEventTimeTimer(END_OF_TIME);
          },
          onTimer: (_timestamp, context) => {
            for (const value of context.state.held.get()) context.emit(this.#renamed(value));
            context.state.held.clear();
          },
        }),
    );
  }

  /** Holds records until none has come for a while: each takes back the timer of the one before. */
  #session(): Stream {
    const { name, size } = this.#spec;
    return this.#placed(
      this.#first()
        .keyBy((value) => value.key)
        .process({
          emits: record,
          state: { held: listState<SimulatedRecord>(), due: valueState<number>() },
          onElement: (value, context) => {
            if (context.currentWatermark > END_OF_TIME) return context.emit(this.#renamed(value));
            const { held, due } = context.state;
            const { timerService } = context;
            held.add(value);
            if (due.value !== undefined) timerService.deleteProcessingTimeTimer(due.value);
            due.update(timerService.currentProcessingTime + size);
            timerService.registerProcessingTimeTimer(due.value ?? 0);
            timerService.registerEventTimeTimer(END_OF_TIME);
          },
          onTimer: (timestamp, context) => {
            const { held, due } = context.state;
            if (timestamp === END_OF_TIME)
              context.timerService.deleteProcessingTimeTimer(due.value ?? 0);
            else if (timestamp !== due.value)
              this.#world.violated(`a timer of ${name} fired that had been taken back`);
            for (const value of held.get()) context.emit(this.#renamed(value));
            held.clear();
            due.clear();
          },
        }),
    );
  }

  /** Every subtask is given the ids of all at a restore, beside those of its own keys. */
  #owners(): Stream {
    const { name } = this.#spec;
    return this.#placed(
      this.#first()
        .keyBy((value) => value.key)
        .process({
          emits: record,
          state: { seen: mapState<string, number>(), owners: unionListState<string>() },
          onElement: (value, context) => {
            const { seen, owners } = context.state;
            if (this.#world.exactlyOnce) {
              const known = new Map<string, number>();
              for (const id of owners.get()) known.set(id, (known.get(id) ?? 0) + 1);
              for (const id of [...seen.keys(), value.id])
                if (known.get(id) !== (id === value.id ? undefined : 1))
                  this.#world.violated(
                    `${id} is ${known.get(id) ?? 0} times in the union state of ${name}`,
                  );
            }
            seen.put(value.id, 1);
            owners.add(value.id);
            context.emit(this.#renamed(value));
          },
        }),
    );
  }

  #buffer(): Stream {
    const { size } = this.#spec;
    return this.#placed(
      this.#first().process({
        emits: record,
        state: { buffered: operatorListState<SimulatedRecord>() },
        onElement: (value, context) => {
          const { buffered } = context.state;
          buffered.add(value);
          if (buffered.get().length < size) return;
          for (const one of buffered.get()) context.emit(this.#renamed(one));
          buffered.clear();
        },
        onEndOfInput: (context) => {
          for (const one of context.state.buffered.get()) context.emit(this.#renamed(one));
          context.state.buffered.clear();
        },
      }),
    );
  }

  #join(): Stream {
    const left = this.#first().keyBy((value) => value.key);
    const right = this.#second().keyBy((value) => value.key);
    return this.#placed(
      left.connect(right).process({
        emits: record,
        state: { count: valueState({ default: 0 }) },
        onElement1: (value, context) => {
          context.state.count.update(context.state.count.value + 1);
          context.emit(this.#counted(value, context.state.count.value, 'a'));
        },
        onElement2: (value, context) => {
          context.state.count.update(context.state.count.value + 1);
          context.emit(this.#counted(value, context.state.count.value, 'b'));
        },
      }),
    );
  }

  /**
   * Keyed state beside broadcast state: both are of one cut, so one never falls behind the other.
   */
  #rules(): Stream {
    const { name } = this.#spec;
    const rules = { rules: broadcastState<string, number>() };
    return this.#placed(
      this.#first()
        .keyBy((value) => value.key)
        .connect(this.#second().broadcast(rules))
        .process({
          emits: record,
          state: { rulesSeen: valueState({ default: 0 }) },
          onElement: (value, context) => {
            let count = 0;
            for (const uses of context.broadcast.rules.values()) count += uses;
            if (this.#world.exactlyOnce && count < context.state.rulesSeen.value)
              this.#world.violated(`the broadcast state of ${name} went back`);
            context.state.rulesSeen.update(count);
            context.emit(this.#renamed(value));
          },
          onBroadcastElement: (value, context) => {
            const uses = (context.broadcast.rules.get(value.id) ?? 0) + 1;
            if (uses > 1 && this.#world.exactlyOnce)
              this.#world.violated(`${value.id} is twice in the broadcast state of ${name}`);
            context.broadcast.rules.put(value.id, uses);
          },
        }),
    );
  }

  /** Each record takes one of two ways by chance, and another one after a restart. */
  #coin(): Stream {
    const other = outputTag<SimulatedRecord>(`${this.#spec.name}-other`);
    const main = this.#placed(
      this.#first().process({
        emits: record,
        onElement: (value, context) => {
          if (this.#world.random.int(2) === 0) context.emit(this.#renamed(value));
          else context.output(other, this.#renamed(value));
        },
      }),
    );
    const side = main
      .sideOutput(other)
      .map((value) => value)
      .uid(`${this.#spec.name}s`);
    return main.union(side);
  }

  #all(): Stream {
    let subtask = 0;
    return this.#placed(
      this.#input(0)
        .broadcast()
        .map({
          open: (context) => {
            subtask = context.subtask;
          },
          map: (value: SimulatedRecord) => this.#renamed(value, `@${subtask}`),
        }),
    );
  }

  #checkWatermark(before: number, now: number): void {
    if (this.#world.keepsEventTime && now < before)
      this.#world.violated(
        `the watermark of ${this.#spec.name} is ${now}, its state has seen ${before}`,
      );
  }

  #counted(value: SimulatedRecord, n: number, part = ''): SimulatedRecord {
    const mark = { operator: this.#spec.name, key: value.key, id: `${value.id}${part}`, n };
    return { ...this.#renamed(value, part), counts: [...value.counts, mark] };
  }

  #renamed(value: SimulatedRecord, part = ''): SimulatedRecord {
    return { ...value, id: this.#id(value.id, part) };
  }

  #id(id: string, part = ''): string {
    return stepOf.id(id, this.#spec.name, part);
  }

  #first(): Stream {
    const stream = this.#input(0);
    switch (this.#spec.partition) {
      case 'rebalance':
        return stream.rebalance();
      case 'shuffle':
        return stream.shuffle();
      case 'rescale':
        return stream.rescale();
      case 'none':
        return stream;
    }
  }

  #second(): Stream {
    return this.#input(1);
  }

  #input(index: number): Stream {
    return this.#streams[this.#spec.inputs[index] ?? -1] as Stream;
  }

  #placed(
    stream: SingleOutputStreamOperator<SimulatedRecord>,
  ): SingleOutputStreamOperator<SimulatedRecord> {
    const { name, parallelism, startsChain } = this.#spec;
    stream.uid(name);
    if (parallelism !== null) stream.setParallelism(parallelism);
    if (startsChain) stream.startNewChain();
    return stream;
  }
}
