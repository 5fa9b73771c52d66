import Foundation
import RepriseForms
import ReprisePhone
import Testing

/// A form in the theme that the host names.
@Suite("Page: themes", .serialized)
struct PageThemeTests {
    private static let form = PageFixture.form(
        "a", #","buttons":[{"label":"Send","style":"primary","actions":[{"type":"dismiss"}]}]"#)

    /// Shows the form; its shadow is closed, so the page is asked to remember it.
    private func look(
        _ theme: String?, isDark: Bool = false, hasFault: Bool = false
    ) async throws -> String? {
        let stage = try await PageFixture(
            nil, on: .init(isDark: isDark, hasReducedMotion: true))
        _ = try await stage.says("hello")
        try await stage.tell(
            #"{"type":"welcome","protocol":2,"now":\#(PageFixture.now),"locale":"en""#
                + (theme.map { #","theme":\#($0)}"# } ?? "}"))
        if hasFault {
            let fault = try await stage.says("fault")
            #expect(fault["reason"]?.text == "malformed" && fault["about"]?.text == "theme")
        }
        try await stage.tell(PageFixture.catalogue([Self.form]))
        _ = try await stage.says("formsData")
        try await stage.view.page.evaluate(
            """
            (() => {
              const attach = Element.prototype.attachShadow;
              Element.prototype.attachShadow = function (options) {
                return (window.shadow = attach.call(this, options));
              };
            })()
            """)
        try await stage.show("a")
        let said = try await stage.view.page.evaluate(
            """
            (() => {
              const style = (name) => getComputedStyle(window.shadow.querySelector(name));
              const [dialog, button] = [style('dialog'), style('.primary')];
              return [dialog.backgroundColor, dialog.colorScheme, dialog.borderTopLeftRadius,
                dialog.fontSize, button.backgroundColor, button.borderTopLeftRadius].join(' | ');
            })()
            """
        ).text
        await stage.close()
        return said
    }

    private static let standard =
        "rgb(255, 255, 255) | light | 20px | 16px | rgb(40, 80, 200) | 14px"

    @Test("colours, corners and the size of texts are the theme's, of both palettes")
    func themed() async throws {
        var theme = FormsTheme()
        theme.light = [.paper: "#fffaf0", .accent: "#00695c"]
        theme.dark[.accent] = "#ffcc80"
        (theme.corner, theme.fontScale) = (8, 1.25)
        try theme.check()
        let json = String(decoding: theme.json, as: UTF8.self)
        #expect(
            try await look(json)
                == "rgb(255, 250, 240) | light | 8px | 20px | rgb(0, 105, 92) | 8px")
        #expect(
            try await look(json, isDark: true)
                == "rgb(29, 31, 36) | dark | 8px | 20px | rgb(255, 204, 128) | 8px")
    }

    @Test("a theme that is always dark, or always light, ignores the system's appearance")
    func forced() async throws {
        let dark = "rgb(29, 31, 36) | dark | 20px | 16px | rgb(157, 184, 255) | 14px"
        #expect(try await look(#"{"appearance":"dark"}"#) == dark)
        #expect(try await look(#"{"appearance":"light"}"#, isDark: true) == Self.standard)
        #expect(try await look(nil, isDark: true) == dark)
    }

    @Test(
        "a theme that would be style, or script, or unreadable is refused whole",
        arguments: [
            #"{"light":{"paper":"red; } dialog { display: none"}}"#,
            ##"{"light":{"paper":"var(--ink)"}}"##, ##"{"light":{"paper":"#FFFFFF"}}"##,
            ##"{"light":{"--paper":"#000000"}}"##, ##"{"corner":"0; display: none"}"##,
            #"{"corner":41}"#, #"{"fontScale":0}"#, #"{"fontScale":"1; display: none"}"#,
            #"{"appearance":"system; display: none"}"#, #"{"style":"* { display: none }"}"#,
            #"{"__proto__":{"corner":0}}"#, "[]", #""dark""#,
        ])
    func injected(theme: String) async throws {
        #expect(try await look(theme, hasFault: true) == Self.standard)
    }
}
