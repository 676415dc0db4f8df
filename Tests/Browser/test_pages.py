"""Each page as an operator sees it: its name, its tables, its width, its colours, with and without scripts."""

from axe_playwright_python.sync_playwright import Axe

from browser import NARROW
from case import PAGES, Case

AXE = {"runOnly": {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]}}


class PagesTests(Case):
    def check(self, visitor, path, name):
        page = visitor.page
        self.assertEqual(visitor.open(path), 200, path)
        self.assertEqual(page.locator("h1").all_inner_texts(), [name], path)
        self.assertIn(name, page.title(), path)
        for table in page.locator("table").all():
            self.assertNotEqual(table.locator("caption").text_content().strip(), "", f"{path}: a table without caption")
            self.assertEqual(table.locator("thead th:not([scope=col])").count(), 0, path)
            self.assertEqual(table.locator("tbody th:not([scope=row])").count(), 0, path)
            self.assertGreater(table.locator("thead th").count(), 0, path)
        for button in page.locator("main button[name=action]").all():
            self.assertNotEqual(button.inner_text().strip(), "", f"{path}: a button without a name")
        self.assertEqual(page.locator("[style], [onclick], style, script:not([src])").count(), 0, f"{path}: inline code")
        width, room = page.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
        self.assertLessEqual(width, room, f"{path} scrolls to the side")

    def check_all(self, **options):
        visitor = self.visit("admin", **options)
        for path, name in PAGES.items():
            with self.subTest(path=path):
                self.check(visitor, path, name)
        return visitor

    def test_every_page_has_one_name_and_tables_with_captions(self):
        self.check_all()

    def test_every_page_works_without_scripts(self):
        self.check_all(scripts=False)

    def test_no_page_scrolls_to_the_side_at_360_pixels(self):
        self.check_all(size=NARROW)

    def test_a_viewer_sees_every_page_and_no_button_of_an_action(self):
        visitor = self.visit("viewer")
        for path, name in PAGES.items():
            if "confirm=" in path:
                continue
            with self.subTest(path=path):
                self.check(visitor, path, name)
                self.assertEqual(visitor.page.locator("main button[name=action]").all_inner_texts(), [], path)

    def accessible(self, **options):
        visitor = self.visit("admin", **options)
        for path in PAGES:
            with self.subTest(path=path):
                visitor.open(path)
                found = Axe().run(visitor.page, options=AXE).response["violations"]
                self.assertEqual(
                    [(rule["id"], [node["target"] for node in rule["nodes"]][:3]) for rule in found], [], path)

    def test_axe_finds_nothing_in_the_light_colours(self):
        self.accessible()

    def test_axe_finds_nothing_in_the_dark_colours(self):
        self.accessible(scheme="dark")

    def test_axe_finds_nothing_on_a_narrow_screen(self):
        self.accessible(size=NARROW)

    def test_axe_finds_nothing_on_the_sign_in_page_and_on_pages_of_errors(self):
        for scheme in ("light", "dark"):
            visitor = self.visit(scheme=scheme)
            visitor.open("sign-in")
            self.assertEqual(Axe().run(visitor.page, options=AXE).response["violations"], [])
            visitor.sign_in("ada")
            for path in ("nothing", "search?q=nothing-like-it", "jobs/unknown", "devices?token=x", "dead?cursor=forged"):
                self.assertGreaterEqual(visitor.open(path), 400, path)
                self.assertEqual(visitor.page.locator("h1").count(), 1, path)
                self.assertEqual(Axe().run(visitor.page, options=AXE).response["violations"], [], path)

    def test_hostile_ids_are_text(self):
        visitor = self.visit("admin")
        visitor.open("dead")
        self.assertEqual(visitor.page.locator("main script").count(), 0)
        visitor.open("jobs/%3Cimg%20src=x%20onerror=alert(1)%3E")
        self.assertIn("<img src=x onerror=alert(1)>", visitor.page.locator("main").inner_text())
        self.assertEqual(visitor.page.locator("main img").count(), 0)

    def test_dark_is_dark(self):
        def brightness(visitor):
            visitor.open("")
            color = visitor.page.evaluate("getComputedStyle(document.body).backgroundColor")
            return sum(int(part) for part in color[4:-1].split(",")[:3])

        self.assertGreater(brightness(self.visit("viewer")), 600)
        self.assertLess(brightness(self.visit("viewer", scheme="dark")), 120)

    def test_only_an_admin_who_asks_sees_a_whole_token(self):
        from seed import token
        for role, path, is_whole in (("viewer", "devices?user=carol&whole=yes", False),
                                     ("admin", "devices?user=carol", False),
                                     ("admin", "devices?user=carol&whole=yes", True)):
            visitor = self.visit(role)
            visitor.open(path)
            self.assertEqual(token("carol 0") in visitor.page.content(), is_whole, (role, path))
