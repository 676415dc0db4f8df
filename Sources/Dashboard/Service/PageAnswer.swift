import HTTPServer

/// The header fields of answers.
enum PageAnswer {
  /// Nothing but files of the dashboard itself: markup that comes from outside could load and run nothing.
  private static let policy = """
    default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; \
    form-action 'self'; base-uri 'none'; frame-ancestors 'none'
    """

  private static let protection: [(name: String, value: String)] = [
    ("Content-Security-Policy", policy), ("X-Content-Type-Options", "nosniff"), ("X-Frame-Options", "DENY"),
    ("Referrer-Policy", "same-origin"), ("Cross-Origin-Opener-Policy", "same-origin"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
    ("Permissions-Policy", "camera=(), geolocation=(), microphone=()"),
  ]

  static func html(_ document: [UInt8], status: Int) -> HTTPResponse {
    protected(
      HTTPResponse(
        status: status,
        headers: [("Content-Type", "text/html; charset=utf-8"), ("Cache-Control", "no-store")], body: document))
  }

  /// Answers 303: the browser gets the page of `link`.
  static func redirect(to link: Link) -> HTTPResponse {
    protected(HTTPResponse(status: 303, headers: [("Location", link.text), ("Cache-Control", "no-store")]))
  }

  /// Returns the response with the header fields that every answer has.
  static func protected(_ response: HTTPResponse) -> HTTPResponse {
    var response = response
    response.headers += protection
    return response
  }
}
