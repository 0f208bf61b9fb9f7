//! Whether a value is as a JSON Schema says, for the part of JSON Schema that the generated schemas use.

use serde_json::Value;

/// Fails if a value, which is at this place of a document, has not what the schema requires, or something that it lacks.
pub fn conforms(value: &Value, schema: &Value, root: &Value, at: &str) {
    if let Some(reference) = schema["$ref"].as_str() {
        let name = reference.strip_prefix("#/$defs/").unwrap();
        return conforms(value, &root["$defs"][name], root, at);
    }
    if let Some(choices) = schema["anyOf"].as_array() {
        // Something that may be missing.
        let [there, null] = &choices[..] else { panic!("{at}: {choices:?}") };
        assert_eq!(null["type"], "null", "{at}");
        if !value.is_null() {
            conforms(value, there, root, at);
        }
        return;
    }
    if let Some(words) = schema["oneOf"].as_array() {
        let is_known = words.iter().any(|word| {
            word["const"] == *value || word["enum"].as_array().is_some_and(|words| words.contains(value))
        });
        return assert!(is_known, "{at}: {value} is not one of {words:?}");
    }
    let types: Vec<&str> = match &schema["type"] {
        Value::String(one) => vec![one],
        Value::Array(several) => several.iter().filter_map(Value::as_str).collect(),
        // Anything may stand here, such as a workload.
        _ => return,
    };
    let actual = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(n) if n.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    let fits = types.contains(&actual) || (actual == "integer" && types.contains(&"number"));
    assert!(fits, "{at}: {value} is not one of {types:?}");
    for name in schema["required"].as_array().into_iter().flatten() {
        assert!(value.get(name.as_str().unwrap()).is_some(), "{at}: {name} is missing");
    }
    for (name, field) in value.as_object().into_iter().flatten() {
        let of = schema["properties"].get(name).unwrap_or(&schema["additionalProperties"]);
        assert!(of.is_object() || *of == true, "{at}: {name} is not in the schema");
        conforms(field, of, root, &format!("{at}.{name}"));
    }
    for (i, item) in value.as_array().into_iter().flatten().enumerate() {
        conforms(item, &schema["items"], root, &format!("{at}[{i}]"));
    }
}
