require_relative "snippet"

$stdin.each_line do |line|
  scheme, secret, body, *headers = line.chomp.split("\t").map { |cell| cell == "-" ? nil : cell }
  puts send(scheme == "body" ? :verify_body : :verify_message, secret, body.unpack1("m"), *headers)
end
