import RepriseCore
import RepriseForms
import Testing

@Suite("The forms page")
struct FormsPageTests {
    @Test("a page names the session that it was made for, and no other")
    func session() throws {
        let page = FormsPage.page(session: "5e551011")
        let html = String(decoding: try #require(page.files["/"]).bytes, as: UTF8.self)
        #expect(html.contains(#"content="5e551011""#))
        #expect(!html.contains("{{"))
    }
}
