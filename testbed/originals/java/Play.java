import com.baomidou.mybatisplus.core.toolkit.Sequence;
import com.github.f4b6a3.tsid.TsidFactory;
import com.github.yitter.contract.IdGeneratorOptions;
import com.github.yitter.idgen.DefaultIdGenerator;
import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.FileDescriptor;
import java.io.FileWriter;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.Writer;
import java.util.Map;
import java.util.Properties;
import org.apache.ibatis.logging.LogFactory;
import org.apache.shardingsphere.infra.algorithm.keygen.snowflake.SnowflakeKeyGenerateAlgorithm;

/** Plays clock scripts to an original of Java. README.md describes the script. */
public final class Play {
    interface Generator {
        long next() throws Exception;
    }

    interface Original {
        Generator start(int worker) throws Exception;
    }

    static native boolean tell();

    static native void set(long millis);

    /** What was set before, and not used up. */
    static native long during(long millis);

    static native long wall();

    static native void call();

    /** What the originals that can be told a random number are told. */
    private static int random;

    /** By default this looks at a clock that another thread copies each millisecond; here it looks at the clock itself. */
    private static final class Told extends Sequence {
        Told(final long worker, final long datacenter) {
            super(worker, datacenter);
        }

        @Override
        protected long timeGen() {
            return System.currentTimeMillis();
        }

        long worker(final long datacenter) {
            return getMaxWorkerId(datacenter, 31);
        }
    }

    private static final Map<String, Original> ORIGINALS = Map.of(
        "mybatis-plus", worker -> new Told(worker & 31, worker >> 5)::nextId,
        "hutool", worker -> new cn.hutool.core.lang.Snowflake(worker & 31, worker >> 5)::nextId,
        "seata", worker -> new io.seata.common.util.IdWorker((long) worker)::nextId,
        "yitter", worker -> new DefaultIdGenerator(new IdGeneratorOptions((short) worker))::newLong,
        "shardingsphere", worker -> {
            SnowflakeKeyGenerateAlgorithm algorithm = new SnowflakeKeyGenerateAlgorithm();
            algorithm.init(new Properties());
            return () -> algorithm.generateKeys(null, 1).iterator().next();
        },
        // The node is one of the random numbers.
        "tsid", worker -> {
            TsidFactory factory = TsidFactory.builder().withRandomFunction(() -> random).build();
            return () -> factory.create().toLong();
        });

    /** An orderly end waits for other threads, in real time: this one ends at once, also where nobody listens any more. */
    public static void main(final String[] arguments) {
        int status = 1;
        try {
            play(arguments);
            status = 0;
        } catch (Throwable failure) {
            failure.printStackTrace();
        }
        Runtime.getRuntime().halt(status);
    }

    private static void play(final String[] arguments) throws Exception {
        System.load(arguments[0]);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        // Unlike System.out, this ends the program if nobody reads any more.
        Writer out = new BufferedWriter(new FileWriter(FileDescriptor.out), 1 << 16);
        Original original = ORIGINALS.get(arguments[1]);
        // At its first use a class may wait for other threads in real time, for instance to find a logger.
        LogFactory.useNoLogging();
        original.start(0).next();
        new Told(0, 0).worker(0);
        cn.hutool.core.util.IdUtil.getWorkerId(0, 31);
        if (!tell()) {
            throw new IllegalStateException("the clocks of this Java cannot be told the time");
        }
        Generator generator = null;
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ");
            long number = Long.parseLong(words[1]);
            random = (int) Long.parseLong(words[2]);
            switch (words[0]) {
                case "at":
                    set(number);
                    during(0);
                    generator = null;
                    break;
                case "pass":
                case "step":
                    set(wall() + number);
                    break;
                case "during":
                    during(number);
                    break;
                case "start":
                    generator = start(original, (int) number, out);
                    break;
                case "ids":
                    for (long i = 0; i < number && generator != null; i++) {
                        mint(generator, out);
                    }
                    out.write(wall() + "\n");
                    break;
                case "worker":
                    out.write(ProcessHandle.current().pid() + "\t" + new Told(0, 0).worker(number) + "\t"
                        + cn.hutool.core.util.IdUtil.getWorkerId(number, 31) + "\n");
                    break;
                default:
                    throw new IllegalArgumentException(line);
            }
        }
        out.flush();
    }

    /** What an original sleeps at its start is no part of the script. */
    private static Generator start(final Original original, final int worker, final Writer out) throws IOException {
        long before = wall();
        long armed = during(0);
        try {
            call();
            Generator result = original.start(worker);
            out.write("started\n");
            return result;
        } catch (Exception refused) {
            out.write(said(refused) + "\n");
            return null;
        } finally {
            set(before);
            during(armed);
        }
    }

    private static void mint(final Generator generator, final Writer out) throws IOException {
        String said;
        try {
            call();
            said = Long.toString(generator.next());
        } catch (Exception refused) {
            said = said(refused);
        }
        out.write(said);
        out.write('\t');
    }

    private static String said(final Exception refused) {
        return "!" + refused.toString().replaceAll("[\\t\\r\\n]", " ");
    }
}
