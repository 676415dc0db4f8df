import CCurl

/// What all uses of libcurl share.
enum Curl {
  private static let isReady = curl_global_init(Int(CURL_GLOBAL_ALL)) == CURLE_OK

  /// Returns nil if libcurl cannot be initialised.
  static func makeHandle() -> UnsafeMutableRawPointer? {
    isReady ? curl_easy_init() : nil
  }

  /// Sets what all uses have in common. The authorities come from the trust store.
  static func configure(
    _ handle: UnsafeMutableRawPointer, url: String, connectMilliseconds: Int, _ others: [CURLcode]
  ) throws(HTTPClientError) {
    try check(
      [
        martlet_curl_set_string(handle, CURLOPT_URL, url), martlet_curl_set_long(handle, CURLOPT_NOSIGNAL, 1),
        martlet_curl_set_long(handle, CURLOPT_CONNECTTIMEOUT_MS, connectMilliseconds),
        martlet_curl_set_long(handle, CURLOPT_TCP_KEEPALIVE, 1),
        martlet_curl_set_long(handle, CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2)),
        martlet_curl_set_string(handle, CURLOPT_CAINFO, nil), martlet_curl_set_string(handle, CURLOPT_CAPATH, nil),
      ] + others)
  }

  /// Throws if libcurl has refused an option.
  static func check(_ codes: [CURLcode]) throws(HTTPClientError) {
    guard let code = codes.first(where: { $0 != CURLE_OK }) else { return }
    throw .connection("libcurl refused an option: \(String(cString: curl_easy_strerror(code)))")
  }

  /// Runs a transfer. Blocks. The text says why it failed.
  static func perform(_ handle: UnsafeMutableRawPointer) -> (code: CURLcode, reason: String) {
    let detail = UnsafeMutablePointer<CChar>.allocate(capacity: Int(CURL_ERROR_SIZE))
    detail.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
    martlet_curl_set_pointer(handle, CURLOPT_ERRORBUFFER, detail)
    defer {
      martlet_curl_set_pointer(handle, CURLOPT_ERRORBUFFER, nil)
      detail.deallocate()
    }
    let code = curl_easy_perform(handle)
    return (code, code == CURLE_OK ? "" : reason(code, String(cString: detail)))
  }

  static func systemAuthorities(_ handle: UnsafeMutableRawPointer) -> TrustStore.System {
    var bundle: UnsafeMutablePointer<CChar>?
    var directory: UnsafeMutablePointer<CChar>?
    martlet_curl_get_ca_bundle(handle, &bundle)
    martlet_curl_get_ca_directory(handle, &directory)
    return TrustStore.System(
      bundle: bundle.map { String(cString: $0) }, directory: directory.map { String(cString: $0) })
  }

  /// Returns libcurl's description of an error, without the URL of a proxy, which may contain a password.
  static func reason(_ code: CURLcode, _ detail: String) -> String {
    guard !detail.isEmpty else { return String(cString: curl_easy_strerror(code)) }
    guard detail.hasPrefix("Unsupported proxy"), let quote = detail.firstIndex(of: "'") else { return detail }
    return "\(detail[..<quote])the proxy variable of the environment"
  }

  /// Returns the error of a transfer that failed with this code.
  static func error(_ code: CURLcode, _ reason: String) -> HTTPClientError {
    switch code {
    case CURLE_URL_MALFORMAT: .configuration(reason)
    case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY: .unresolved(reason)
    case CURLE_COULDNT_CONNECT: .refused(reason)
    case CURLE_OPERATION_TIMEDOUT: .timedOut(reason)
    case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CONNECT_ERROR, CURLE_SSL_CACERT_BADFILE, CURLE_SSL_CERTPROBLEM:
      .certificate(reason)
    default: .connection(reason)
    }
  }
}
