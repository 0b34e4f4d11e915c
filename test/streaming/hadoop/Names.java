// Prints every property that Hadoop has renamed: the older name, a TAB, the newer one.
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.mapred.JobConf;

public class Names {
    public static void main(String[] words) {
        new JobConf(); // brings the names of jobs with it
        Configuration.dumpDeprecatedKeys();
    }
}
