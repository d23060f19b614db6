import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Base64;

class Check {
    public static void main(String[] args) throws Exception {
        var input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line; (line = input.readLine()) != null; ) {
            String[] cells = Arrays.stream(line.split("\t")).map(cell -> cell.equals("-") ? null : cell).toArray(String[]::new);
            byte[] body = Base64.getDecoder().decode(cells[2]);
            System.out.println(cells[0].equals("body")
                ? WebhookSignature.verifyBody(cells[1], body, cells[3])
                : cells[0].equals("key")
                ? WebhookSignature.verifyWithKey(cells[1], body, cells[3], cells[4], cells[5])
                : WebhookSignature.verifyMessage(cells[1], body, cells[3], cells[4], cells[5]));
        }
    }
}
