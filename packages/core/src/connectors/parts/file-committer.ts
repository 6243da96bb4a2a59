/**
 * Gives part files their final names, and puts a sink's folder in order after a failure.
 *
 * A file goes from its unfinished to its final name by a link, which fails where the name is taken:
 * a finished file is never overwritten. The link is made durable before the old name is removed, so
 * at every moment one of the two is there; from which are there every call can tell how far an
 * earlier one came. That makes all of it idempotent.
 *
 *   unfinished  final                    what it means
 *   yes         no                       pending: give it the final name
 *   yes or no   yes, of the right size   committed: remove the unfinished name
 *   yes or no   yes, of another size     the sink is ahead, or somebody changed the file: refused
 *   no          no                       lost: refused
 */
import type {
  CommittableStatus,
  Committer,
  CommitterContext,
  SinkRecovery,
} from '../../api/sink.ts';
import { WeirError } from '../../base/errors.ts';
import { compareAttempts } from '../../base/ids.ts';
import { joinPath, parentPath } from '../../storage/paths.ts';
import { storageErrno } from '../../storage/storage-error.ts';
import { asSinkError } from '../file-errors.ts';
import { copyPrefix } from './copy-prefix.ts';
import { parsePartName } from './part-names.ts';
import type { FileCommittable, FileWriterState, PartFileRef, PartName } from './part-names.ts';

interface PartOnDisk extends PartName {
  readonly path: string;
}

export class FileCommitter implements Committer<FileCommittable, FileWriterState> {
  readonly #context: CommitterContext;
  readonly #folder: string;

  constructor(context: CommitterContext, folder: string) {
    this.#context = context;
    this.#folder = folder;
  }

  commit(committables: readonly FileCommittable[]): Promise<void> {
    return this.#wrapped(() => this.#publish(committables));
  }

  probe(committable: FileCommittable): Promise<CommittableStatus> {
    return this.#wrapped(() => this.#statusOf(committable));
  }

  check(recovery: SinkRecovery<FileCommittable, FileWriterState>): Promise<void> {
    return this.#wrapped(async () => {
      await this.#lookAround(recovery);
    });
  }

  recover(recovery: SinkRecovery<FileCommittable, FileWriterState>): Promise<void> {
    return this.#wrapped(() => this.#recover(recovery));
  }

  async close(): Promise<void> {
    // Nothing is open.
  }

  async #recover(recovery: SinkRecovery<FileCommittable, FileWriterState>): Promise<void> {
    // Everything is looked at before anything is changed: a refused recovery leaves no trace.
    const { open, foreign, parts } = await this.#lookAround(recovery);
    const copies: PartFileRef[] = [];
    for (const ref of foreign) copies.push(...(await this.#finishCopy(ref, recovery)));
    await this.#publish([...recovery.committables, ...open, ...copies]);
    for (const part of parts)
      if (!part.isFinished && compareAttempts(part.attempt, recovery.attempt) < 0)
        await this.#context.fileSystem.remove(part.path);
  }

  /** Part files that are to be finished, those of former leaders apart, and all that are there. */
  async #lookAround(recovery: SinkRecovery<FileCommittable, FileWriterState>): Promise<{
    readonly open: readonly PartFileRef[];
    readonly foreign: readonly PartFileRef[];
    readonly parts: readonly PartOnDisk[];
  }> {
    const { committables, writerStates, subtasks, attempt } = recovery;
    for (const committable of committables)
      if ((await this.#statusOf(committable)) === 'gone') throw this.#lost(committable);
    const open: PartFileRef[] = [];
    const foreign: PartFileRef[] = [];
    for (const state of writerStates)
      for (const ref of state.open)
        if (await this.#isToBeFinished(ref, recovery))
          (state.attempt.epoch < attempt.epoch ? foreign : open).push(ref);
    const parts = (await this.#partsIn(this.#folder)).filter(
      (part) => subtasks === 'all' || subtasks.includes(part.subtask),
    );
    this.#checkAhead(parts, recovery);
    return { open, foreign, parts };
  }

  /**
   * What a process left open that has lost the lead: it may only stand still, and go on writing
   * into the file later. So that file is left behind, and a copy of what belongs to the checkpoint
   * takes its place. Nothing when more than that has been finished, be it a moment ago.
   */
  async #finishCopy(
    ref: PartFileRef,
    recovery: SinkRecovery<FileCommittable, FileWriterState>,
  ): Promise<readonly PartFileRef[]> {
    const { fileSystem, random } = this.#context;
    const inProgressPath = `${ref.inProgressPath}-${random.hex(8)}`;
    try {
      // It stays in the list, since that name must be durable before the unfinished one goes.
      if ((await this.#statusOf(ref)) === 'committed') return [ref];
      const { inProgressPath: from, sizeBytes } = ref;
      await copyPrefix(fileSystem, { from, to: inProgressPath, sizeBytes });
      const copy = { ...ref, inProgressPath };
      await this.#giveFinalName(copy);
      return [copy];
    } catch (error) {
      await fileSystem.remove(inProgressPath).catch(() => undefined);
      if (await this.#isToBeFinished(ref, recovery)) throw error;
      return [];
    }
  }

  /**
   * A file that was open at the checkpoint: what it held then is finished now. False when more than
   * that was finished already and the user takes the repetition.
   */
  async #isToBeFinished(
    ref: PartFileRef,
    recovery: SinkRecovery<FileCommittable, FileWriterState>,
  ): Promise<boolean> {
    const final = await this.#context.fileSystem.stat(ref.finalPath);
    if (final !== null && final.sizeBytes > ref.sizeBytes) {
      const message =
        `fileSink has published ${ref.finalPath} with ${final.sizeBytes} bytes, and the snapshot ` +
        `to be restored knows of ${ref.sizeBytes}${this.#whence(ref)}`;
      const { finalPath, sizeBytes } = ref;
      const details = { path: finalPath, publishedBytes: final.sizeBytes, sizeBytes };
      this.#reportAhead(message, details, recovery.allowOlder);
      return false;
    }
    if ((await this.#statusOf(ref)) === 'gone') throw this.#lost(ref);
    return true;
  }

  /** Finished files that the snapshot's writers began after it, or that their successors made. */
  #checkAhead(
    parts: readonly PartOnDisk[],
    { writerStates, allowOlder }: SinkRecovery<FileCommittable, FileWriterState>,
  ): void {
    const isAhead = (part: PartOnDisk): boolean => {
      const states = writerStates.filter(({ subtask }) => subtask === part.subtask);
      const own = states.find(({ uid }) => uid === part.uid);
      if (own !== undefined) return part.part >= own.nextPart;
      // A subtask without a state ended before the snapshot, or came after: nothing can be said.
      return (
        states.length > 0 &&
        states.every(({ attempt }) => compareAttempts(part.attempt, attempt) > 0)
      );
    };
    const ahead = parts.filter((part) => part.isFinished && isAhead(part));
    const [first] = ahead;
    if (first === undefined) return;
    const message =
      `fileSink has published ${ahead.length} file(s) in ${this.#folder} after the snapshot to ` +
      `be restored, among them ${first.path}`;
    this.#reportAhead(message, { path: first.path, files: ahead.length }, allowOlder);
  }

  #reportAhead(
    message: string,
    details: Readonly<Record<string, unknown>>,
    allowOlder: boolean,
  ): void {
    if (allowOlder) {
      this.#context.logger.log('warn', `${message}: its records are written again`, details);
      return;
    }
    throw new WeirError(
      'user',
      `${message}: restore the newest snapshot, or remove what was published after this one, or ` +
        'allow repeated results with execution.state-recovery.allow-older',
      { code: 'SINK_AHEAD', details },
    );
  }

  async #publish(refs: readonly PartFileRef[]): Promise<void> {
    const { fileSystem } = this.#context;
    for (const ref of refs) await this.#giveFinalName(ref);
    const folders = new Set(refs.map((ref) => parentPath(ref.finalPath)));
    for (const folder of folders) await fileSystem.syncDirectory(folder);
    for (const ref of refs) await fileSystem.remove(ref.inProgressPath);
  }

  async #giveFinalName(ref: PartFileRef): Promise<void> {
    const { fileSystem } = this.#context;
    const status = await this.#statusOf(ref);
    if (status === 'committed') return;
    if (status === 'gone') throw this.#lost(ref);
    const stat = await fileSystem.stat(ref.inProgressPath);
    if (stat !== null && stat.sizeBytes > ref.sizeBytes)
      await fileSystem.truncate(ref.inProgressPath, ref.sizeBytes);
    try {
      await this.#link(ref);
    } catch (error) {
      // Another call for the same file may have been faster.
      if ((await this.#statusOf(ref)) !== 'committed') throw error;
    }
  }

  async #link({ inProgressPath, finalPath }: PartFileRef): Promise<void> {
    const { fileSystem } = this.#context;
    try {
      await fileSystem.link(inProgressPath, finalPath);
    } catch (error) {
      // File systems without links; that the name is free was seen just now.
      if (!HAS_NO_LINKS.has(storageErrno(error) ?? '')) throw error;
      await fileSystem.rename(inProgressPath, finalPath);
    }
  }

  async #statusOf(ref: PartFileRef): Promise<CommittableStatus> {
    const { fileSystem } = this.#context;
    // In this order: a file that gets its final name in between is found under one of the two.
    const unfinished = await fileSystem.stat(ref.inProgressPath);
    const final = await fileSystem.stat(ref.finalPath);
    if (final !== null) {
      if (final.sizeBytes === ref.sizeBytes) return 'committed';
      throw this.#changed(ref, ref.finalPath, final.sizeBytes);
    }
    if (unfinished === null) return 'gone';
    if (unfinished.sizeBytes < ref.sizeBytes)
      throw this.#changed(ref, ref.inProgressPath, unfinished.sizeBytes);
    return 'pending';
  }

  /** Part files of this sink in a folder and those below. */
  async #partsIn(folder: string): Promise<PartOnDisk[]> {
    const { fileSystem } = this.#context;
    const parts: PartOnDisk[] = [];
    for (const name of await fileSystem.list(folder)) {
      const path = joinPath(folder, name);
      const part = parsePartName(this.#context, name);
      if (part !== null) parts.push({ ...part, path });
      else if (/^[^._]/.test(name)) {
        const stat = await fileSystem.stat(path);
        if (stat?.isDirectory === true) parts.push(...(await this.#partsIn(path)));
      }
    }
    return parts;
  }

  #lost(ref: PartFileRef): WeirError {
    const { finalPath, inProgressPath, sizeBytes } = ref;
    return new WeirError(
      'user',
      `fileSink is missing ${finalPath}: neither it nor its unfinished form ${inProgressPath} ` +
        `is there, so ${sizeBytes} bytes of a completed checkpoint are lost${this.#whence(ref)}; ` +
        `put the file back, or start from another snapshot${this.#adviceFor(ref)}`,
      {
        code: 'SINK_UNAVAILABLE',
        details: { path: finalPath, inProgressPath, sizeBytes, reason: 'missing' },
      },
    );
  }

  #changed(ref: PartFileRef, path: string, found: number): WeirError {
    return new WeirError(
      'user',
      `fileSink finds ${path} with ${found} bytes where a completed checkpoint wrote ` +
        `${ref.sizeBytes}: something else changed the file${this.#whence(ref)}; put it back as ` +
        `it was, or start from another snapshot${this.#adviceFor(ref)}`,
      {
        code: 'SINK_UNAVAILABLE',
        details: { path, sizeBytes: ref.sizeBytes, foundBytes: found, reason: 'changed' },
      },
    );
  }

  /** For messages: why the sink looks in a folder that the job does not name. */
  #whence({ finalPath }: PartFileRef): string {
    if (this.#folder === '/' || finalPath.startsWith(`${this.#folder}/`)) return '';
    return ` (the path comes from the snapshot; the sink now writes to ${this.#folder})`;
  }

  #adviceFor(ref: PartFileRef): string {
    if (this.#whence(ref) === '') return '';
    return (
      '; what a snapshot promises is published where it was begun: the old folder must stand as ' +
      'it was until the new run has completed a checkpoint'
    );
  }

  async #wrapped<R>(run: () => Promise<R>): Promise<R> {
    try {
      return await run();
    } catch (error) {
      throw asSinkError(this.#folder, error);
    }
  }
}

const HAS_NO_LINKS = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS']);
