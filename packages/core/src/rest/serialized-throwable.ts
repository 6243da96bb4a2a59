/**
 * A failure as Flink's Java clients want it: an `org.apache.flink.util.SerializedThrowable`,
 * written in Java's serialisation format. They read nothing else of a failure, and fail over a
 * missing one. Only what this one fixed object needs of the format is here; nothing is ever read
 * in it.
 */
import { Buffer } from 'node:buffer';

/** From the specification of the Java Object Serialization Stream Protocol, version 2. */
const STREAM_HEADER = Buffer.from([0xac, 0xed, 0x00, 0x05]);
const NULL = 0x70;
const REFERENCE = 0x71;
const CLASS = 0x72;
const OBJECT = 0x73;
const STRING = 0x74;
const END = 0x78;
const LONG_STRING = 0x7c;
const SERIALIZABLE = 0x02;
const WRITES_ITSELF = 0x01;
const FIRST_HANDLE = 0x7e0000;

/** Handles count classes and strings in the order of their first writing: class, then this. */
const STRING_TYPE = reference(1);

export function serializedThrowable(className: string, message: string, trace: string): string {
  const bytes = Buffer.concat([
    STREAM_HEADER,
    Buffer.from([OBJECT]),
    classOf('org.apache.flink.util.SerializedThrowable', 7284183123441947635n, SERIALIZABLE, [
      field('L', 'fullStringifiedStackTrace', string('Ljava/lang/String;')),
      field('L', 'originalErrorClassName', STRING_TYPE),
      field('[', 'serializedException', string('[B')),
    ]),
    classOf('java.lang.Exception', -3387516993124229948n, SERIALIZABLE, []),
    classOf('java.lang.Throwable', -3042686055658047285n, SERIALIZABLE | WRITES_ITSELF, [
      field('L', 'cause', string('Ljava/lang/Throwable;')),
      field('L', 'detailMessage', STRING_TYPE),
      field('[', 'stackTrace', string('[Ljava/lang/StackTraceElement;')),
      field('L', 'suppressedExceptions', string('Ljava/util/List;')),
    ]),
    // No class above; then the fields, from the uppermost class down.
    Buffer.from([NULL]),
    Buffer.from([NULL]),
    string(message),
    Buffer.from([NULL, NULL, END]),
    string(trace),
    string(className),
    Buffer.from([NULL]),
  ]);
  return bytes.toString('base64');
}

function classOf(name: string, uid: bigint, flags: number, fields: readonly Buffer[]): Buffer {
  const numbers = Buffer.alloc(11);
  numbers.writeBigInt64BE(uid, 0);
  numbers.writeUInt8(flags, 8);
  numbers.writeUInt16BE(fields.length, 9);
  return Buffer.concat([
    Buffer.from([CLASS]),
    shortText(name),
    numbers,
    ...fields,
    Buffer.from([END]),
  ]);
}

function field(type: 'L' | '[', name: string, typeName: Buffer): Buffer {
  return Buffer.concat([Buffer.from(type), shortText(name), typeName]);
}

function reference(index: number): Buffer {
  const bytes = Buffer.alloc(5);
  bytes.writeUInt8(REFERENCE, 0);
  bytes.writeUInt32BE(FIRST_HANDLE + index, 1);
  return bytes;
}

function string(text: string): Buffer {
  const content = modifiedUtf8(text);
  if (content.length <= 0xffff) return Buffer.concat([Buffer.from([STRING]), shortText(text)]);
  const header = Buffer.alloc(9);
  header.writeUInt8(LONG_STRING, 0);
  header.writeBigUInt64BE(BigInt(content.length), 1);
  return Buffer.concat([header, content]);
}

function shortText(text: string): Buffer {
  const content = modifiedUtf8(text);
  const length = Buffer.alloc(2);
  length.writeUInt16BE(content.length, 0);
  return Buffer.concat([length, content]);
}

/** Java's own: each UTF-16 unit by itself, and no zero byte. */
function modifiedUtf8(text: string): Buffer {
  const bytes: number[] = [];
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    if (unit > 0 && unit < 0x80) bytes.push(unit);
    else if (unit < 0x800) bytes.push(0xc0 | (unit >> 6), 0x80 | (unit & 0x3f));
    else bytes.push(0xe0 | (unit >> 12), 0x80 | ((unit >> 6) & 0x3f), 0x80 | (unit & 0x3f));
  }
  return Buffer.from(bytes);
}
