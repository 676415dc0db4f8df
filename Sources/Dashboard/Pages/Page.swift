/// What a page shows.
struct Page: Sendable {
  /// The one `h1`.
  let title: String
  var status = 200
  /// Whether the regions of the page are fetched again while it is shown.
  var refreshes = true
  /// A sentence below the title, or nil.
  var summary: String?
  var body: HTML
  /// A redirection to another page, which is then answered instead.
  var location: Link?

  init(_ title: String, summary: String? = nil, _ content: (inout HTML) -> Void) {
    self.title = title
    self.summary = summary
    body = HTML(content)
  }

  /// Sends the browser to another page.
  static func redirect(to link: Link) -> Page {
    var page = Page("") { _ in }
    page.location = link
    return page
  }
}
