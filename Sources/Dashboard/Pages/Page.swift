/// What a page shows.
package struct Page: Sendable {
  /// The one `h1`.
  package let title: String
  package var status = 200
  /// Whether the regions of the page are fetched again while it is shown.
  package var refreshes = true
  /// A sentence below the title, or nil.
  package var summary: String?
  package var body: HTML
  /// A redirection to another page, which is then answered instead.
  package var location: Link?

  package init(_ title: String, summary: String? = nil, _ content: (inout HTML) -> Void) {
    self.title = title
    self.summary = summary
    body = HTML(content)
  }

  /// Sends the browser to another page.
  package static func redirect(to link: Link) -> Page {
    var page = Page("") { _ in }
    page.location = link
    return page
  }
}
