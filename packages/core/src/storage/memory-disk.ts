/**
 * A disk in memory that knows what a real one would forget. Every file and directory exists twice:
 * as the running process sees it, and as it was at the last sync. `crash` is a power failure: it
 * drops the first in favour of the second, names included. What the operations mean is said at
 * `FileSystem`; here they answer at once, and throw. `MemoryFileSystem` makes promises of that.
 */
import type { FileStat } from '../base/file-system.ts';
import type { Random } from '../base/random.ts';
import { baseName, parentPath } from './paths.ts';
import { storageErrorFromErrno } from './storage-error.ts';

interface FileNode {
  readonly kind: 'file';
  content: Uint8Array;
  durable: Uint8Array;
  modifiedAt: number;
}

/** One step on a directory that a crash keeps or loses as a whole; `null` removes the name. */
type NameChange = readonly (readonly [name: string, node: Node | null])[];

interface DirectoryNode {
  readonly kind: 'directory';
  entries: Map<string, Node>;
  durable: Map<string, Node>;
  /** What leads from `durable` to `entries`, in order. */
  pending: NameChange[];
  modifiedAt: number;
}

type Node = FileNode | DirectoryNode;

export interface MemoryReader {
  read(offset: number, length: number): Uint8Array;
  sizeBytes(): number;
}

export interface MemoryWriter {
  write(bytes: Uint8Array): void;
  sync(): void;
  close(): void;
}

export class MemoryDisk {
  readonly #wallTime: () => number;
  readonly #root: DirectoryNode;
  /** Names on the way to each path that was asked for. */
  readonly #names = new Map<string, readonly string[]>();
  #crashes = 0;

  constructor(wallTime: () => number = () => 0) {
    this.#wallTime = wallTime;
    this.#root = newDirectory(wallTime());
  }

  /**
   * Forgets what was not synced; writers that were open fail from now on. With `random`, part of it
   * survives, as on a real disk: any of each directory's changes, since nothing orders them, and a
   * prefix of each file's new bytes.
   */
  crash(random?: Random): void {
    this.#crashes += 1;
    crashDirectory(this.#root, random);
  }

  /** Turns the lowest bit of one byte around, beneath everybody: damage that checksums must see. */
  flipBit(path: string, offset: number): void {
    const file = this.#file('damage', path);
    file.content = file.content.slice();
    file.content[offset]! ^= 1;
    file.durable = file.content;
  }

  /** What a power failure right now would certainly leave of a file; `null`: perhaps nothing. */
  survives(path: string): Uint8Array | null {
    let node: Node = this.#root;
    for (const name of this.#namesOf(path)) {
      const next: Node | undefined = node.kind === 'directory' ? node.durable.get(name) : undefined;
      if (next === undefined) return null;
      node = next;
    }
    return node.kind === 'file' ? node.durable : null;
  }

  /** What a file holds, without a copy: it is never changed, only replaced. */
  contentOf(path: string): Uint8Array {
    return this.#file('read', path).content;
  }

  stat(path: string): FileStat | null {
    const node = this.#find(path);
    if (node === null) return null;
    const isDirectory = node.kind === 'directory';
    return {
      sizeBytes: isDirectory ? 0 : node.content.byteLength,
      isDirectory,
      modifiedAt: node.modifiedAt,
    };
  }

  list(path: string): readonly string[] {
    const node = this.#find(path);
    if (node === null) return [];
    if (node.kind === 'file') throw storageErrorFromErrno('list', path, 'ENOTDIR');
    return [...node.entries.keys()].sort();
  }

  makeDirectory(path: string): void {
    let directory = this.#root;
    for (const name of this.#namesOf(path)) {
      let next = directory.entries.get(name);
      if (next === undefined) {
        next = newDirectory(this.#wallTime());
        this.#change(directory, [[name, next]]);
      }
      if (next.kind === 'file') throw storageErrorFromErrno('create the folder', path, 'ENOTDIR');
      directory = next;
    }
  }

  readFile(path: string): Uint8Array {
    return this.contentOf(path).slice();
  }

  openForRead(path: string): MemoryReader {
    const file = this.#file('open', path);
    return {
      read: (offset, length) => file.content.slice(offset, offset + length),
      sizeBytes: () => file.content.byteLength,
    };
  }

  create(path: string, options?: { readonly exclusive?: boolean }): MemoryWriter {
    const parent = this.#parent('create', path);
    const existing = parent.entries.get(baseName(path));
    if (existing !== undefined && options?.exclusive === true)
      throw storageErrorFromErrno('create', path, 'EEXIST');
    if (existing?.kind === 'directory') throw storageErrorFromErrno('create', path, 'EISDIR');
    const file = existing ?? newFile(this.#wallTime());
    file.content = new Uint8Array();
    if (existing === undefined) this.#change(parent, [[baseName(path), file]]);
    return this.#writer(path, file);
  }

  truncate(path: string, sizeBytes: number): void {
    const file = this.#file('truncate', path);
    const content = new Uint8Array(sizeBytes);
    content.set(file.content.subarray(0, sizeBytes));
    file.content = content;
    file.durable = content;
    file.modifiedAt = this.#wallTime();
  }

  rename(from: string, to: string): void {
    const source = this.#parent(`rename ${from} to`, to, from);
    const target = this.#parent(`rename ${from} to`, to);
    const node = source.entries.get(baseName(from));
    if (node === undefined) throw storageErrorFromErrno(`rename ${from} to`, to, 'ENOENT');
    const taken = target.entries.get(baseName(to));
    if (taken?.kind === 'directory' && taken.entries.size > 0)
      throw storageErrorFromErrno(`rename ${from} to`, to, 'ENOTEMPTY');
    if (source === target) {
      this.#change(source, [
        [baseName(from), null],
        [baseName(to), node],
      ]);
    } else {
      this.#change(target, [[baseName(to), node]]);
      this.#change(source, [[baseName(from), null]]);
    }
  }

  link(from: string, to: string): void {
    const file = this.#file(`link ${from} to`, from);
    const target = this.#parent(`link ${from} to`, to);
    if (target.entries.has(baseName(to)))
      throw storageErrorFromErrno(`link ${from} to`, to, 'EEXIST');
    this.#change(target, [[baseName(to), file]]);
  }

  syncDirectory(path: string): void {
    const node = this.#find(path);
    if (node === null) throw storageErrorFromErrno('make names durable in', path, 'ENOENT');
    if (node.kind === 'file') throw storageErrorFromErrno('make names durable in', path, 'ENOTDIR');
    if (node.pending.length === 0) return;
    node.durable = new Map(node.entries);
    node.pending = [];
  }

  remove(path: string): void {
    const parent = this.#find(parentPath(path));
    if (parent?.kind !== 'directory') return;
    const node = parent.entries.get(baseName(path));
    if (node === undefined) return;
    if (node.kind === 'directory') throw storageErrorFromErrno('remove', path, 'EISDIR');
    this.#change(parent, [[baseName(path), null]]);
  }

  removeDirectory(path: string): void {
    const node = this.#find(path);
    if (node === null) return;
    if (node.kind === 'file') throw storageErrorFromErrno('remove the folder', path, 'ENOTDIR');
    if (node.entries.size > 0) throw storageErrorFromErrno('remove the folder', path, 'ENOTEMPTY');
    this.#change(this.#parent('remove the folder', path), [[baseName(path), null]]);
  }

  #writer(path: string, file: FileNode): MemoryWriter {
    const crashes = this.#crashes;
    const check = (action: string): void => {
      if (this.#crashes !== crashes) throw storageErrorFromErrno(action, path, 'EBADF');
    };
    return {
      write: (bytes) => {
        check('write');
        const content = new Uint8Array(file.content.byteLength + bytes.byteLength);
        content.set(file.content);
        content.set(bytes, file.content.byteLength);
        file.content = content;
        file.modifiedAt = this.#wallTime();
      },
      sync: () => {
        check('make durable');
        file.durable = file.content;
      },
      close: () => check('close'),
    };
  }

  #change(directory: DirectoryNode, change: NameChange): void {
    applyChange(directory.entries, change);
    directory.pending.push(change);
    directory.modifiedAt = this.#wallTime();
  }

  #find(path: string): Node | null {
    let node: Node = this.#root;
    for (const name of this.#namesOf(path)) {
      const next: Node | undefined = node.kind === 'directory' ? node.entries.get(name) : undefined;
      if (next === undefined) return null;
      node = next;
    }
    return node;
  }

  #namesOf(path: string): readonly string[] {
    let names = this.#names.get(path);
    if (names === undefined) {
      names = path.split('/').filter((name) => name !== '');
      this.#names.set(path, names);
    }
    return names;
  }

  #file(action: string, path: string): FileNode {
    const node = this.#find(path);
    if (node === null) throw storageErrorFromErrno(action, path, 'ENOENT');
    if (node.kind === 'directory') throw storageErrorFromErrno(action, path, 'EISDIR');
    return node;
  }

  #parent(action: string, path: string, child = path): DirectoryNode {
    const node = this.#find(parentPath(child));
    if (node === null) throw storageErrorFromErrno(action, path, 'ENOENT');
    if (node.kind === 'file') throw storageErrorFromErrno(action, path, 'ENOTDIR');
    return node;
  }
}

function newFile(modifiedAt: number): FileNode {
  return { kind: 'file', content: new Uint8Array(), durable: new Uint8Array(), modifiedAt };
}

function newDirectory(modifiedAt: number): DirectoryNode {
  return { kind: 'directory', entries: new Map(), durable: new Map(), pending: [], modifiedAt };
}

function applyChange(entries: Map<string, Node>, change: NameChange): void {
  for (const [name, node] of change) {
    if (node === null) entries.delete(name);
    else entries.set(name, node);
  }
}

function crashDirectory(directory: DirectoryNode, random: Random | undefined): void {
  for (const change of directory.pending)
    if (random?.int(2) === 1) applyChange(directory.durable, change);
  directory.entries = new Map(directory.durable);
  directory.pending = [];
  for (const node of directory.entries.values()) {
    if (node.kind === 'directory') crashDirectory(node, random);
    else crashFile(node, random);
  }
}

function crashFile(file: FileNode, random: Random | undefined): void {
  const isAppended = file.content.byteLength > file.durable.byteLength;
  if (random !== undefined && isAppended) {
    const extra = random.int(file.content.byteLength - file.durable.byteLength + 1);
    file.durable = file.content.slice(0, file.durable.byteLength + extra);
  }
  file.content = file.durable;
}
