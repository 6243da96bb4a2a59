import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Copies a topic exactly once with Kafka's own clients: consume, change, produce, and every second
 * commit the transaction with the offsets. Prints records a second. Arguments: broker, from, to, count.
 */
public final class CopyLoop {
  public static void main(String[] args) throws Exception {
    long count = Long.parseLong(args[3]);
    Properties in = new Properties();
    in.put("bootstrap.servers", args[0]);
    in.put("group.id", "copy-" + System.nanoTime());
    in.put("auto.offset.reset", "earliest");
    in.put("enable.auto.commit", "false");
    in.put("isolation.level", "read_committed");
    in.put("max.poll.records", "5000");
    in.put("key.deserializer", ByteArrayDeserializer.class.getName());
    in.put("value.deserializer", ByteArrayDeserializer.class.getName());
    Properties out = new Properties();
    out.put("bootstrap.servers", args[0]);
    out.put("transactional.id", "copy-" + System.nanoTime());
    out.put("linger.ms", "5");
    out.put("batch.size", "262144");
    out.put("key.serializer", ByteArraySerializer.class.getName());
    out.put("value.serializer", ByteArraySerializer.class.getName());
    try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(in);
        KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(out)) {
      producer.initTransactions();
      consumer.subscribe(List.of(args[1]));
      long began = System.nanoTime();
      long done = 0;
      while (done < count) {
        producer.beginTransaction();
        Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
        long until = System.nanoTime() + 1_000_000_000L;
        while (System.nanoTime() < until && done < count) {
          for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(100))) {
            byte[] value = record.value();
            value[0] = 'w';
            producer.send(new ProducerRecord<>(args[2], value));
            offsets.put(
                new TopicPartition(record.topic(), record.partition()),
                new OffsetAndMetadata(record.offset() + 1));
            done++;
          }
        }
        producer.sendOffsetsToTransaction(offsets, consumer.groupMetadata());
        producer.commitTransaction();
      }
      System.out.println(Math.round(count * 1e9 / (System.nanoTime() - began)));
    }
  }
}
