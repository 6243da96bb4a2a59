/**
 * Groups clicks into sessions by event time: a session of a user ends when no click of his comes
 * for `--gap` (30 minutes by default). Written with a process function, state and timers.
 *
 *   weir run examples/sessionize.ts --input FILE --output FOLDER [--gap 30min]
 *
 * The input has one click a line: `{"user": "ann", "at": 1700000000000, "page": "/home"}`, at most
 * five seconds out of order; `at` is in milliseconds. A later click counts into the session that is
 * open when it comes.
 */
import {
  basePath,
  boundedOutOfOrderness,
  fileSink,
  fileSource,
  job,
  ndjson,
  type,
  valueState,
} from '@weir/core';

interface Click {
  readonly user: string;
  readonly at: number;
  readonly page: string;
}

interface Session {
  readonly user: string;
  readonly from: number;
  readonly to: number;
  readonly clicks: number;
}

export default job('sessionize', (env) => {
  env.enableCheckpointing('500ms');
  const gapMs = env.args.duration('gap', '30min');
  env
    .fromSource(fileSource({ path: env.args.string('input'), format: ndjson<Click>() }), {
      uid: 'clicks',
      watermarks: boundedOutOfOrderness('5s', (click: Click) => click.at),
    })
    .keyBy((click) => click.user)
    .process({
      emits: type<Session>(),
      state: { open: valueState<Session>() },
      onElement(click, context) {
        let open = context.state.open.value;
        // One timer a session: it moves with the last click.
        if (open !== undefined) context.timerService.deleteEventTimeTimer(open.to + gapMs);
        // Event time lags behind the clicks: the next session may begin before the timer fires.
        if (open !== undefined && click.at > open.to + gapMs) {
          context.emit(open);
          open = undefined;
        }
        const session: Session = {
          user: click.user,
          from: Math.min(open?.from ?? click.at, click.at),
          to: Math.max(open?.to ?? click.at, click.at),
          clicks: (open?.clicks ?? 0) + 1,
        };
        context.state.open.update(session);
        context.timerService.registerEventTimeTimer(session.to + gapMs);
      },
      onTimer(_timestamp, context) {
        const session = context.state.open.value;
        if (session !== undefined) context.emit(session);
        context.state.open.clear();
      },
    })
    .uid('sessions')
    .sinkTo(
      fileSink({ path: env.args.string('output'), format: ndjson<Session>(), bucket: basePath() }),
    )
    .uid('sessions-out');
});
