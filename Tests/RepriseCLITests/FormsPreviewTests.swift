import Foundation
import RepriseCommandLine
import RepriseTestSupport
import RepriseTesting
import Testing

@testable import RepriseCLI
@testable import ReprisePhone

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

@Suite("forms preview")
struct FormsPreviewTests {
    private static let form = #"""
        {"format": "forms/1", "version": "1", "predicates": {
          "vip": {"property": "plan", "is": "equals", "value": "vip"}}, "forms": [
          {"id": "first", "title": "First", "triggers": [{"event": "a"}]},
          {"id": "welcome", "title": "Welcome", "priority": 3, "window": {"until": 1},
           "frequency": {"max": 1, "seconds": 60}, "audience": {"use": "vip"},
           "triggers": [{"event": "a", "delay": 600,
                         "where": {"property": "p", "is": "exists"}}]}]}
        """#

    /// Runs it on a file until the body ends.
    private static func play(
        _ arguments: [String] = [], _ body: (_ url: String, _ file: URL) async throws -> Void
    ) async throws {
        let folder = try TemporaryFolder()
        let file = folder.appending("forms.json")
        try Data(form.utf8).write(to: file)
        let tool = try RunningTool(["forms", "preview", file.path] + arguments)
        try await eventually("it says its address") { tool.output.hasSuffix("/\n") }
        let url = String(tool.output.dropLast(2))
        #expect(url.hasPrefix("http://127.0.0.1:"))
        try await body(url, file)
        tool.signal(SIGINT)
        #expect(await tool.end() == 0)
    }

    private static func get(
        _ url: String, host: String? = nil
    ) async throws -> (status: Int, text: String, policy: String) {
        var request = URLRequest(url: try #require(URL(string: url)))
        if let host { request.setValue(host, forHTTPHeaderField: "Host") }
        let (body, response) = try await URLSession.shared.data(for: request)
        let answer = try #require(response as? HTTPURLResponse)
        return (
            answer.statusCode, String(decoding: body, as: UTF8.self),
            answer.value(forHTTPHeaderField: "Content-Security-Policy") ?? ""
        )
    }

    @Test("each file is served under a policy, the catalogue as it is now, and to no other name")
    func files() async throws {
        try await Self.play { url, file in
            for path in ["/", "/page", "/forms.js", "/host.js", "/preview.js", "/preview.css"] {
                let answer = try await Self.get(url + path)
                #expect(answer.status == 200 && !answer.text.isEmpty, "\(path)")
                #expect(answer.policy.hasPrefix("default-src 'none'; script-src 'self';"))
            }
            let page = try await Self.get(url + "/page")
            let host = try #require(page.text.range(of: "/host.js"))
            let runtime = try #require(page.text.range(of: "/forms.js"))
            #expect(host.lowerBound < runtime.lowerBound && !page.text.contains("{{session}}"))
            #expect(try await Self.get(url + "/catalogue.json").text == Self.form)
            try Data(#"{"format": "forms/1",\#n"forms": []}"#.utf8).write(to: file)
            let bad = try await Self.get(url + "/catalogue.json")
            #expect(bad.status == 422 && bad.text.hasPrefix("\(file.path):"))
            #expect(try await Self.get(url + "/other").status == 404)
            #expect(try await Self.get(url + "/", host: "example.org").status == 403)
        }
    }

    @Test(
        "a browser shows the chosen form at once, whatever its triggers, caps and window say",
        .timeLimit(.minutes(1)), .enabled(if: Chromium.find() != nil))
    func browser() async throws {
        try await Self.play { url, _ in
            let chromium = try await Chromium.start()
            do { try await Self.look(url, chromium) } catch {
                await chromium.end()
                throw error
            }
            await chromium.end()
        }
    }

    private static func look(_ url: String, _ chromium: Chromium) async throws {
        let devTools = try await DevTools.connect(to: chromium.address)
        let target = try await devTools.call(
            "Target.createTarget", ["url": .string(url + "/?form=welcome")])["targetId"]?.text
        let page = try await ChromiumPage.attach(to: try #require(target), of: devTools)
        var said = ""
        try await eventually("it has appeared: \(said)") {
            said = try await page.evaluate("document.body?.innerText ?? ''").text ?? ""
            return said.contains(#"formDidAppear {"#)
        }
        #expect(said.contains(#""form":"welcome""#) && said.contains("first"))
        #expect(!said.contains("fault") && !said.contains("catalogueRefused"))
        let width = try await page.evaluate(
            "String(document.querySelector('iframe').contentWindow.innerWidth)"
        ).text
        #expect(width == "390")
        await devTools.close()
    }

    @Test("a theme is served as it is now, in dark if that is asked for, and refused if it is none")
    func theme() async throws {
        let folder = try TemporaryFolder()
        let theme = try folder.write(
            ##"{"corner": 4, "light": {"accent": "#00695c"}}"##, to: "t.json")
        try await Self.play(["--theme", theme, "--dark"]) { url, _ in
            let text = try await Self.get(url + "/theme.json").text
            #expect(text.hasPrefix(#"{"appearance":"dark","#) && text.contains(##""#00695c""##))
            try Data(#"{"corner": 400}"#.utf8).write(to: URL(filePath: theme))
            let bad = try await Self.get(url + "/theme.json")
            #expect(bad.status == 422 && bad.text.contains("40 points"))
        }
        let file = try folder.write(Self.form, to: "forms.json")
        let bad = try await Tool.run("forms", "preview", file, "--theme", theme)
        #expect(bad.status == 65 && bad.error.contains("40 points"))
        let none = try await Tool.run("forms", "preview", file, "--theme", folder.path("none"))
        #expect(none.status == 66)
    }

    @Test("a file that is no catalogue is refused with its problems, and one that is not there")
    func refused() async throws {
        let folder = try TemporaryFolder()
        let bad = try folder.write("{}", to: "bad.json")
        let result = try await Tool.run("forms", "preview", bad)
        #expect(result.status == 65 && result.error.contains("\(bad):1: "))
        let none = try await Tool.run("forms", "preview", folder.path("none.json"))
        #expect(none.status == 66)
        let input = try await Tool.run("forms", "preview", "-")
        #expect(input.status == 64)
    }

    @Test("a port in use is reported")
    func taken() async throws {
        try await Self.play { url, file in
            let port = try #require(url.split(separator: ":").last)
            let second = try await Tool.run("forms", "preview", file.path, "--port", String(port))
            #expect(second.status == 75)
            #expect(
                second.error == "reprise: Port \(port) is in use by another process. "
                    + "Give another with --port, or none for a free one.\n")
        }
    }
}
