# frozen_string_literal: true

module Hookferry
  # @api private
  # The headers of a request: a Hash of names, in any case, and of values. Or the environment of a Rack request.
  class Headers
    # Names of Rack are in upper case, with underscores.
    def initialize(headers)
      @values = Hash.new { |hash, name| hash[name] = [] }
      headers.each do |key, value|
        name = key.to_s.delete_prefix("HTTP_").tr("_", "-").downcase
        @values[name].concat(Array(value).map(&:to_s))
      end
    end

    # @raise VerificationError if it came more than once, because either value may be the wrong one
    def read(name)
      values = @values.fetch(name.downcase, [])
      # Servers join the values by "," or ", ". No value of the service has a comma before white space.
      if values.length > 1 || values.first&.match?(/,\s/)
        raise VerificationError.missing_header(name.downcase, "came more than once: check the proxy in front of this server")
      end

      values.first
    end

    # @raise VerificationError also where it is missing
    def require(name)
      value = read(name)
      return value unless value.nil? || value.empty?

      raise VerificationError.missing_header(name, "is missing: pass all headers, and check that no proxy removes it")
    end
  end
end
