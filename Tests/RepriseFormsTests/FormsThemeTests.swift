import RepriseCore
import RepriseForms
import RepriseTestSupport
import Testing

@Suite("Forms: themes")
struct FormsThemeTests {
    @Test("A theme in JSON is the one in Swift, and is written as the page reads it")
    func json() throws {
        let json = """
            {"appearance": "dark", "light": {"accent": "#00695C"}, "dark": {"paper": "#000000"},
             "corner": 8, "fontScale": 1.25}
            """
        var theme = FormsTheme()
        theme.appearance = .dark
        theme.light[.accent] = "#00695C"
        theme.dark[.paper] = "#000000"
        (theme.corner, theme.fontScale) = (8, 1.25)
        #expect(try FormsTheme(json: json) == theme)
        #expect(
            String(decoding: theme.json, as: UTF8.self)
                == ##"{"appearance":"dark","fontScale":1.25,"corner":8.0,"##
                + ##""light":{"accent":"#00695c"},"dark":{"paper":"#000000"}}"##)
        #expect(try FormsTheme(json: "{}") == FormsTheme())
    }

    @Test(
        "A malformed theme is refused, with the allowed values",
        arguments: [
            "", "[]", ##"{"color": "red"}"##, ##"{"light": {"background": "#ffffff"}}"##,
            #"{"light": {"paper": 7}}"#, #"{"corner": "8px"}"#, #"{"appearance": "sepia"}"#,
        ])
    func malformed(json: String) { expectError(.malformed) { try FormsTheme(json: json) } }

    @Test(
        "A malformed colour, and colours without enough contrast, are refused",
        .limit("forms.theme"),
        arguments: [
            ##"{"light": {"paper": "red"}}"##, ##"{"light": {"paper": "#fff"}}"##,
            ##"{"light": {"paper": "#ffffff;} * { display: none"}}"##,
            ##"{"light": {"paper": "url(x)"}}"##, ##"{"dark": {"ink": "#12345g"}}"##,
            #"{"light": {"paper": ""}}"#,
            ##"{"light": {"ink": "#aaaaaa"}}"##, ##"{"dark": {"accent": "#333333"}}"##,
            #"{"corner": -1}"#, #"{"corner": 40.5}"#, #"{"fontScale": 0.4}"#,
            #"{"fontScale": 3.1}"#,
        ])
    func bad(json: String) { expectError(.badConfiguration) { try FormsTheme(json: json) } }

    @Test("A client is not opened with such a theme")
    func configuration() {
        var configuration = Forms.Configuration()
        configuration.theme = FormsTheme()
        configuration.theme?.light[.ink] = "#ffffff"
        let error = expectError(.badConfiguration) { try configuration.check() }
        let text = "In light ink has a contrast of 1.0 to 1 on paper; 4.5 is needed."
        #expect(error?.message == text)
        configuration.theme?.light = [:]
        configuration.theme?.fontScale = .nan
        expectError(.badConfiguration) { try configuration.check() }
    }
}
