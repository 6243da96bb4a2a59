/**
 * An operator whose keyed state a later version of the job declares in another form. What a version
 * finds was brought to it by its migration, and once.
 */
import { valueState } from '@weir/core/internal/api/state-descriptors';
import type { DataStream } from '@weir/core/internal/api/streams/data-stream';
import { type } from '@weir/core/internal/api/type-markers';
import type { SingleOutputStreamOperator } from '@weir/core/internal/index';
import { stepOf } from './recount.ts';
import type { SimulatedRecord } from './simulated-record.ts';

interface VersionedWorld {
  /** Of the job, when it is built; 1 if not given. */
  version?(): number;
  violated(message: string): void;
}

export function versionedProcess(
  input: DataStream<SimulatedRecord>,
  name: string,
  world: VersionedWorld,
): SingleOutputStreamOperator<SimulatedRecord> {
  const version = world.version?.() ?? 1;
  const migrate = { 1: (stored: number) => stored + 1 };
  const form = valueState<number>({
    default: version,
    ...(version === 1 ? {} : { version, migrate }),
  });
  return input
    .keyBy((value) => value.key)
    .process({
      emits: type<SimulatedRecord>(),
      state: { form },
      onElement: (value, context) => {
        const found = context.state.form.value;
        if (found !== version)
          world.violated(
            `version ${version} of the job finds state of version ${found} in ${name}`,
          );
        context.state.form.update(version);
        context.emit({ ...value, id: stepOf.id(value.id, name) });
      },
    });
}
