`--cors-allowed-origins` names the web origins whose pages may use the API: preflights are answered, and every answer, refusals included, can be read by them.
