import EventLoop

/// All pages.
@EventLoop
enum DashboardPages {
  static func all(_ context: DashboardContext) -> [any DashboardPage] {
    [
      OverviewPage(context: context),
      DevicesPage(context: context), AppsPage(context: context), WorkersPage(context: context),
      PoliciesPage(context: context),
      CredentialsPage(context: context), AuditPage(context: context),
    ]
  }
}
