import Crypto
import JSON
package import Redis

/// The settings of the connection to Redis: `REDIS_URL`, `REDIS_URL_FILE`, or the pair of variables of hosted key-value stores.
package enum RedisSettings {
  private static let maximumURLBytes = 4096

  /// Returns the endpoint, or nil if it is absent or invalid. Reports faults, and missing settings if `isRequired`.
  package static func read(_ reader: inout EnvironmentReader, isRequired: Bool) -> RedisEndpoint? {
    guard let endpoint = readOnce(&reader, isRequired: isRequired) else { return nil }
    guard mayChange(reader) else { return endpoint }
    let values = reader
    return endpoint.readAgain {
      var reader = values
      let endpoint = readOnce(&reader, isRequired: true)
      return reader.faults.count == values.faults.count ? endpoint : nil
    }
  }

  private static func readOnce(_ reader: inout EnvironmentReader, isRequired: Bool) -> RedisEndpoint? {
    let certificate = reader.pem(.redisAuthorities)
    let clientCertificate = clientCertificate(&reader)
    return address(certificate, &reader, isRequired: isRequired)?.presenting(clientCertificate)
  }

  /// Whether a part of the endpoint is in a file.
  package static func mayChange(_ reader: EnvironmentReader) -> Bool {
    reader.string("REDIS_URL") == nil && reader.string("REDIS_URL_FILE") != nil
      || ["REDIS_CA_CERT", "REDIS_CLIENT_CERT", "REDIS_CLIENT_KEY"].contains { name in
        reader.string(name).map { !$0.contains("-----BEGIN") } ?? false
      }
  }

  private static func address(
    _ certificate: String?, _ reader: inout EnvironmentReader, isRequired: Bool
  ) -> RedisEndpoint? {
    if let url = reader.text(.redisURL) {
      return endpoint(url, named: "REDIS_URL", certificate, &reader)
    }
    if let path = reader.text(.redisURLFile) {
      return endpoint(inFile: path, certificate, &reader)
    }
    let host = reader.text(.storeURL)
    let token = reader.text(.storeToken)
    switch (host, token) {
    case (let host?, let token?):
      guard !host.contains("@") else {
        reader.report(
          "REDIS_KV_REST_API_URL", seen: "a user or a password in the URL",
          expected: "https://host; the user is default, the password is REDIS_KV_REST_API_TOKEN")
        return nil
      }
      guard let url = url(host: host, token: token) else {
        reader.report("REDIS_KV_REST_API_URL", wrong: host, expected: "https://host")
        return nil
      }
      return endpoint(url, named: "REDIS_KV_REST_API_URL", certificate, &reader)
    case _ where !isRequired: return nil
    case (nil, nil): reader.report("REDIS_URL", seen: "not set", expected: RedisEndpoint.forms)
    case (nil, _):
      reader.report("REDIS_KV_REST_API_URL", seen: "not set", expected: "https://host, because the token is set")
    case (_, nil): reader.report("REDIS_KV_REST_API_TOKEN", seen: "not set", expected: "the token of that store")
    }
    return nil
  }

  /// The certificate for servers that ask clients for one. Nil without the settings, or with a fault.
  private static func clientCertificate(_ reader: inout EnvironmentReader) -> ServerCertificate? {
    let names = (certificate: Setting.redisCertificate.name, key: Setting.redisKey.name)
    let isSet = (certificate: reader.string(names.certificate) != nil, key: reader.string(names.key) != nil)
    let chain = reader.pem(.redisCertificate)
    let key = reader.pem(.redisKey)
    if isSet.certificate != isSet.key {
      let (missing, present) = isSet.key ? (names.certificate, names.key) : (names.key, names.certificate)
      reader.report(
        missing, seen: "not set", expected: "PEM text or a PEM file, because \(present) is set (or neither)")
    }
    guard let chain, let key else { return nil }
    do throws(ServerCertificateError) {
      return try ServerCertificate(chain: Array(chain.utf8), key: Array(key.utf8))
    } catch {
      reader.report(error.isOfKey ? names.key : names.certificate, seen: error.reason, expected: error.expected)
      return nil
    }
  }

  /// Returns `rediss://default:<token>@host:6379` for `https://host[...]`, or nil if `host` is malformed.
  package static func url(host: String, token: String) -> String? {
    let scheme = "https://"
    guard host.lowercased().hasPrefix(scheme) else { return nil }
    let name = host.dropFirst(scheme.count).prefix { $0 != "/" && $0 != ":" && $0 != "?" && $0 != "#" }
    guard !name.isEmpty else { return nil }
    return "rediss://default:\(String(percentEncoding: token))@\(name):6379"
  }

  /// Returns the variables of the pair that are not set.
  package static func missingPair(_ reader: EnvironmentReader) -> [String] {
    ["REDIS_KV_REST_API_URL", "REDIS_KV_REST_API_TOKEN"].filter { reader.string($0) == nil }
  }

  /// Files of variables keep the quotation marks around a value, if they are read by something that is not a shell.
  private static func unquoted(_ url: String) -> String {
    guard url.utf8.count >= 2, let mark = url.first, ["\"", "'"].contains(mark), url.last == mark else { return url }
    return String(url.dropFirst().dropLast())
  }

  private static func endpoint(
    inFile path: String, _ certificate: String?, _ reader: inout EnvironmentReader
  ) -> RedisEndpoint? {
    let name = "REDIS_URL_FILE"
    let expected = "a readable file that contains the URL of Redis"
    guard
      let bytes = reader.contents(name, path: path, maximumBytes: RedisSettings.maximumURLBytes, expected: expected)
    else { return nil }
    guard let url = EnvironmentReader.trimmed(String(decoding: bytes, as: UTF8.self)) else {
      reader.report(name, seen: "the file is empty", expected: expected)
      return nil
    }
    return endpoint(url, named: name, certificate, &reader)
  }

  private static func endpoint(
    _ url: String, named name: String, _ certificate: String?, _ reader: inout EnvironmentReader
  ) -> RedisEndpoint? {
    do {
      return try RedisEndpoint(url: unquoted(url), caCertificatePEM: certificate)
    } catch {
      reader.report(name, seen: "\(error)", expected: RedisEndpoint.forms)
      return nil
    }
  }
}
