// Closed loop on Kafka's own client: so many producers, each on a connection of its own with one record in flight; the callback that takes the
// answer sends the next. Run as a source file: java -cp JARS ClosedLoop.java BOOTSTRAP TOPIC PRODUCERS BYTES WARM_SECONDS SECONDS

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;

public class ClosedLoop {
  static long countFrom, end;
  static final AtomicReference<Exception> failure = new AtomicReference<>();

  /** One producer. Its callbacks come on its own thread, so nothing here is shared. */
  static class Lane {
    final KafkaProducer<byte[], byte[]> producer;
    final ProducerRecord<byte[], byte[]> record;
    final CountDownLatch over;
    long[] nanos = new long[1 << 16];
    int count;

    Lane(Properties settings, String topic, int bytes, CountDownLatch over) {
      producer = new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer());
      record = new ProducerRecord<>(topic, 0, null, new byte[bytes]);
      this.over = over;
    }

    void send() {
      long sent = System.nanoTime();
      producer.send(record, (metadata, error) -> {
        long now = System.nanoTime();
        if (error != null) failure.set(error);
        if (error != null || now >= end) {
          over.countDown();
          return;
        }
        if (sent >= countFrom) {
          if (count == nanos.length) nanos = Arrays.copyOf(nanos, 2 * count);
          nanos[count++] = now - sent;
        }
        send();
      });
    }
  }

  public static void main(String[] args) throws Exception {
    int producers = Integer.parseInt(args[2]);
    double seconds = Double.parseDouble(args[5]);
    Properties settings = new Properties();
    settings.put("bootstrap.servers", args[0]);
    settings.put("acks", "all");
    // There is never a second record to wait for.
    settings.put("linger.ms", "0");
    CountDownLatch over = new CountDownLatch(producers);
    List<Lane> lanes = new ArrayList<>();
    for (int i = 0; i < producers; i++) lanes.add(new Lane(settings, args[1], Integer.parseInt(args[3]), over));
    for (Lane lane : lanes) lane.producer.send(lane.record).get();
    countFrom = System.nanoTime() + (long) (Double.parseDouble(args[4]) * 1e9);
    end = countFrom + (long) (seconds * 1e9);
    for (Lane lane : lanes) lane.send();
    over.await();
    if (failure.get() != null) throw failure.get();
    for (Lane lane : lanes) lane.producer.close();

    long[] all = lanes.stream().flatMapToLong(lane -> Arrays.stream(lane.nanos, 0, lane.count)).sorted().toArray();
    System.out.printf("{\"records\":%d,\"seconds\":%s,\"p50Us\":%s,\"p99Us\":%s,\"maxUs\":%s}%n", all.length, seconds,
        at(all, 0.5), at(all, 0.99), at(all, 1));
  }

  static double at(long[] sorted, double share) {
    return sorted[(int) Math.min(sorted.length - 1, Math.floor(share * sorted.length))] / 1e3;
  }
}
