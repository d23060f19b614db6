require_relative "snippet"

$stdin.each_line do |line|
  scheme, secret, body, *headers = line.chomp.split("\t").map { |cell| cell == "-" ? nil : cell }
  function = { "body" => :verify_body, "message" => :verify_message, "key" => :verify_with_key }.fetch(scheme)
  puts send(function, secret, body.unpack1("m"), *headers)
end
