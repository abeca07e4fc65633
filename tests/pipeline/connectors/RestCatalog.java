import java.net.InetSocketAddress;
import org.apache.hadoop.conf.Configuration;
import org.apache.iceberg.hadoop.HadoopCatalog;
import org.apache.iceberg.rest.RESTCatalogAdapter;
import org.apache.iceberg.rest.RESTCatalogServlet;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.servlet.ServletContextHandler;
import org.eclipse.jetty.servlet.ServletHolder;

/** A REST catalog of Iceberg on loopback, with its tables in a folder; it prints its address. */
class RestCatalog {
    public static void main(String[] arguments) throws Exception {
        var catalog = new RESTCatalogAdapter(new HadoopCatalog(new Configuration(), arguments[0]));
        var context = new ServletContextHandler();
        context.addServlet(new ServletHolder(new RESTCatalogServlet(catalog)), "/*");
        var server = new Server(new InetSocketAddress("127.0.0.1", 0));
        server.setHandler(context);
        server.start();
        System.out.println(server.getURI());
        server.join();
    }
}
